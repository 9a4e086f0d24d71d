import { randomUUID } from 'node:crypto'
import type { Session } from './session.ts'

const KEPT = 10
const USERS = '/identity/v3/users'

/** What an administrator does all day: makes users, changes and deletes them, and gives them roles. */
export class Administrator {
  readonly #session: Session
  readonly #projects: readonly string[]
  readonly #role: string
  readonly #users = new Set<string>()

  constructor(session: Session, projects: readonly string[], role: string) {
    this.#session = session
    this.#projects = projects
    this.#role = role
  }

  async step(): Promise<void> {
    const { random } = this.#session.setting
    const one = this.#users.size === 0 ? undefined : random.pick([...this.#users])
    const dice = random.next()
    if (one === undefined || (dice < 0.3 && this.#users.size < KEPT)) return this.#make()
    if (dice < 0.55) return this.#describe(one)
    if (dice < 0.8) return this.#grant(one)
    return this.#remove(one)
  }

  async #make(): Promise<void> {
    const name = `user-${randomUUID()}`
    const description = randomUUID()
    const { status, body } = await this.#session.call({
      method: 'POST',
      path: USERS,
      body: { user: { name, description, domain_id: 'default' } },
      makes: { type: 'user', name, projectId: '' },
      made: ({ user: { id } }: { readonly user: { readonly id: string } }) => [
        { thing: `user:${id}`, field: 'exists', value: true },
        { thing: `user:${id}`, field: 'name', value: name },
        { thing: `user:${id}`, field: 'description', value: description },
      ],
    })
    if (status === 201)
      this.#users.add((body as { readonly user: { readonly id: string } }).user.id)
  }

  async #describe(id: string): Promise<void> {
    const description = randomUUID()
    await this.#session.call({
      method: 'PATCH',
      path: `${USERS}/${id}`,
      body: { user: { description } },
      writes: [{ thing: `user:${id}`, field: 'description', value: description }],
    })
  }

  async #grant(id: string): Promise<void> {
    const { random } = this.#session.setting
    const project = random.pick(this.#projects)
    await this.#session.call({
      method: random.pick(['PUT', 'DELETE']),
      path: `/identity/v3/projects/${project}/users/${id}/roles/${this.#role}`,
    })
  }

  async #remove(id: string): Promise<void> {
    const writes = [{ thing: `user:${id}`, field: 'exists', value: false }]
    const { status } = await this.#session.call({
      method: 'DELETE',
      path: `${USERS}/${id}`,
      writes,
    })
    if (status === 204 || status === 404) this.#users.delete(id)
  }
}
