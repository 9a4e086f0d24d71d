import type { Context, Hono } from 'hono'
import { Failure } from '#common/errors.ts'
import { changeProject, type SignIn, signInWithPassword } from '../../app/identity/sign-in.ts'
import type { Caller } from '../../app/request-context.ts'
import type { Gateway } from '../../context.ts'
import { openExchange } from '../endpoint.ts'
import { httpInput } from '../http-input.ts'
import { readJsonBody } from '../json-body.ts'
import type { LinksSource } from '../links.ts'
import { failureResponse } from '../response.ts'
import { SERVICES } from '../services.ts'
import { PAGE_HEADER, type PageSession, sessionCookie, sessionToken } from '../session-cookie.ts'
import { peerOf } from '../trusted-proxies.ts'
import { ownSignIn } from './own-sign-in.ts'

const PATH = '/ui/session'
const BODY = { bytesMax: 16_384 }
const TEXT_LENGTH_MAX = 4_096

/**
 * Signs people in at the page. Their token is in a cookie that no script reads, and counts only for requests of the page.
 * `POST` signs in with `name`, `password` and `domain`, in `project` or the first of the user's, or with `token`; `PUT`
 * changes to another `project`, of those that `GET …/projects` lists; `GET` says who is signed in, or null; `DELETE`
 * revokes the token. Passwords are those of the identity service whose tokens count: the one in here, or a Keystone.
 */
export function registerSession(app: Hono, gateway: Gateway, linksOf: LinksSource): void {
  const sessions = new Sessions(app, gateway, linksOf)
  app.get(PATH, (c) => sessions.answer(c, () => sessions.show(c)))
  app.get(`${PATH}/projects`, (c) => sessions.answer(c, () => sessions.projects(c)))
  app.post(PATH, (c) => sessions.answer(c, () => sessions.signIn(c)))
  app.put(PATH, (c) => sessions.answer(c, () => sessions.change(c)))
  app.delete(PATH, async (c) => {
    const answered = await sessions.answer(c, () => sessions.signOut(c))
    // The browser forgets the token even if it could not be revoked.
    answered.headers.set('Set-Cookie', sessions.cookie(c))
    return answered
  })
}

/** The answers to the page's requests about its sessions. */
class Sessions {
  readonly #app: Hono
  readonly #gateway: Gateway
  readonly #linksOf: LinksSource

  constructor(app: Hono, gateway: Gateway, linksOf: LinksSource) {
    this.#app = app
    this.#gateway = gateway
    this.#linksOf = linksOf
  }

  /** What `work` answers, or its failure in the words of the federation API. */
  async answer(c: Context, work: () => Promise<Response>): Promise<Response> {
    try {
      return await work()
    } catch (error) {
      const exchange = openExchange(c, this.#gateway, this.#linksOf)
      return failureResponse(error, SERVICES.federation, exchange, this.#gateway)
    }
  }

  async show(c: Context): Promise<Response> {
    const token = sessionToken(httpInput(c).header)
    const caller = token === undefined ? undefined : await this.#gateway.verifier.callerOf(token)
    return c.json(caller === undefined ? null : shown(caller))
  }

  async projects(c: Context): Promise<Response> {
    const projects = await this.#service(c).projectsOf(await this.#validToken(c))
    return c.json({ projects: projects.map(({ id, name }) => ({ id, name })) })
  }

  async signIn(c: Context): Promise<Response> {
    // Else a page of another site could sign a user in as somebody else.
    if (httpInput(c).header(PAGE_HEADER) === undefined)
      throw new Failure(
        'invalid',
        `Only the page signs in here: the header ${PAGE_HEADER} is missing.`,
      )
    const asked = await textsOf(c, ['name', 'password', 'domain', 'project', 'token'])
    const { name = '', password = '', domain = 'Default', project, token } = asked
    if (token !== undefined) return this.#begin(c, { token })
    const login = { name, password, domain }
    return this.#begin(c, await signInWithPassword(this.#service(c), login, project))
  }

  async change(c: Context): Promise<Response> {
    const token = await this.#validToken(c)
    const { project } = await textsOf(c, ['project'])
    return this.#begin(c, await changeProject(this.#service(c), token, project))
  }

  async signOut(c: Context): Promise<Response> {
    const token = sessionToken(httpInput(c).header)
    if (token !== undefined) await this.#service(c).revoke(token)
    return c.body(null, 204)
  }

  /** That begins this session; without one, that ends every session. */
  cookie(c: Context, session?: PageSession): string {
    return sessionCookie(this.#linksOf(httpInput(c)).root, session)
  }

  async #begin(c: Context, session: PageSession): Promise<Response> {
    const caller = await this.#callerOf(session.token)
    return c.json(shown(caller), 200, { 'Set-Cookie': this.cookie(c, session) })
  }

  /** Of the session that the request belongs to. */
  async #validToken(c: Context): Promise<string> {
    const token = sessionToken(httpInput(c).header)
    if (token === undefined) throw new Failure('unauthenticated', 'Sign in.')
    await this.#callerOf(token)
    return token
  }

  async #callerOf(token: string): Promise<Caller> {
    const caller = await this.#gateway.verifier.callerOf(token)
    if (caller !== undefined) return caller
    throw new Failure('unauthenticated', 'The token is not valid, or has expired.')
  }

  #service(c: Context): SignIn {
    const { keystoneSignIn, isTrustedProxy } = this.#gateway
    const peer = () => peerOf(httpInput(c), isTrustedProxy)
    return keystoneSignIn?.from(peer()) ?? ownSignIn(this.#app, c)
  }
}

function shown(caller: Caller): object {
  const { userId, userName, projectId, projectName, roles, isAdmin } = caller
  const project = projectId === null ? null : { id: projectId, name: projectName }
  return { user: { id: userId, name: userName }, project, roles: [...roles], is_admin: isAdmin }
}

/** The texts of these names in the body. Throws `invalid` for any other body. */
async function textsOf<Name extends string>(
  c: Context,
  names: readonly Name[],
): Promise<Partial<Record<Name, string>>> {
  const body = ((await readJsonBody(httpInput(c), BODY)) ?? {}) as Record<string, unknown>
  const given = Object.entries(body).filter(([, value]) => value !== null && value !== '')
  for (const [name, value] of given) {
    const isText = typeof value === 'string' && value.length <= TEXT_LENGTH_MAX
    if (!isText || !(names as readonly string[]).includes(name))
      throw new Failure(
        'invalid',
        `${name} is not a text that is taken here: give ${names.join(', ')}.`,
      )
  }
  return Object.fromEntries(given) as Partial<Record<Name, string>>
}
