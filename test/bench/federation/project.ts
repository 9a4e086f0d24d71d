import { callApi, type Session, signIn } from '#deploy/api/session.ts'
import { cloudAccount } from '#deploy/deployment/clouds-file.ts'
import type { Booter } from '../phases/storms.ts'
import { countServers, createOf, headersAt, type Product, SERVERS, unlimit } from '../product.ts'
import { requestBytes } from '../request.ts'

/** A project of the demo user, with the requests that are measured in it. */
export interface Project extends Booter {
  readonly id: string
  readonly session: Session
  /** The first thousand of those that run, by name. */
  readonly list: Buffer
}

const LIST = `${SERVERS}/detail?limit=1000&status=ACTIVE&sort_key=display_name&sort_dir=asc`

/** Afterwards the project exists, without limits; `owned` ends what looks at it. */
export async function makeProject(
  owned: AsyncDisposableStack,
  product: Product,
  admin: Session,
  name: string,
): Promise<Project> {
  const demo = cloudAccount(product.layout, 'weir')
  const identity = <Answer>(method: 'GET' | 'POST' | 'PUT', path: string, body?: object) =>
    callApi<Answer>(admin, { method, path: `/identity/v3${path}`, body })
  const [{ project }, { users }, { roles }] = await Promise.all([
    identity<{ project: { id: string } }>('POST', '/projects', { project: { name } }),
    identity<{ users: readonly [{ id: string }] }>('GET', `/users?name=${demo.userName}`),
    identity<{ roles: readonly [{ id: string }] }>('GET', '/roles?name=member'),
  ])
  await identity('PUT', `/projects/${project.id}/users/${users[0].id}/roles/${roles[0].id}`)
  await unlimit(admin, name)
  const session = await signIn(product.origin.origin, { ...demo, projectName: name })
  const counter = owned.use(await countServers(product.mariadb, project.id))
  return {
    id: project.id,
    name: 'product',
    origin: product.origin,
    session,
    requests: { create: await createOf(session) },
    count: () => counter.read(),
    list: requestBytes({ method: 'GET', path: LIST, headers: headersAt(session) }),
  }
}
