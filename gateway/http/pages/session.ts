import type { IncomingMessage } from 'node:http'
import type { Context, Hono } from 'hono'
import { Failure } from '#common/errors.ts'
import type { Caller } from '../../app/request-context.ts'
import type { Gateway } from '../../context.ts'
import { httpInput } from '../http-input.ts'
import { readJsonBody } from '../json-body.ts'
import type { LinksSource } from '../links.ts'
import { PAGE_HEADER, type PageSession, sessionCookie, sessionToken } from '../session-cookie.ts'

const PATH = '/ui/session'
const TOKENS = '/identity/v3/auth/tokens?nocatalog'
const BODY = { bytesMax: 16_384 }
const TEXT_LENGTH_MAX = 4_096
/** What tells the identity service from where somebody signs in. */
const ORIGIN_HEADERS = ['host', 'x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host']

interface Issued {
  readonly token: { readonly expires_at: string; readonly project?: object }
}

/**
 * Signs people in at the page. Their token is in a cookie that no script reads, and counts only for requests of the page.
 * `POST` signs in with `name`, `password` and `domain`, in `project` or the first of the user's, or with `token`; `PUT`
 * changes to another `project`; `GET` says who is signed in, or null; `DELETE` revokes the token.
 */
export function registerSession(app: Hono, gateway: Gateway, linksOf: LinksSource): void {
  const answer = async (c: Context, token: string, expiresAt?: Date) => {
    const caller = await gateway.verifier.callerOf(token)
    if (caller === undefined) return refused(c, 401, 'The token is not valid, or has expired.')
    keepCookie(c, linksOf, { token, ...(expiresAt !== undefined && { expiresAt }) })
    return c.json(shown(caller))
  }

  app.get(PATH, async (c) => {
    const token = sessionToken(httpInput(c).header)
    const caller = token === undefined ? undefined : await gateway.verifier.callerOf(token)
    return c.json(caller === undefined ? null : shown(caller))
  })

  app.post(PATH, async (c) => {
    // Else a page of another site could sign a user in as somebody else.
    if (httpInput(c).header(PAGE_HEADER) === undefined)
      return refused(c, 400, `Only the page signs in here: the header ${PAGE_HEADER} is missing.`)
    const asked = await textsOf(c, ['name', 'password', 'domain', 'project', 'token'])
    if (asked instanceof Response) return asked
    const { name, password = '', domain = 'Default', project, token } = asked
    if (token !== undefined) return answer(c, token)
    const user = { name, password, domain: { name: domain } }
    const identity = { methods: ['password'], password: { user } }
    const first = await issue(app, c, { auth: { identity } })
    if (first instanceof Response) return first
    const scoped =
      project === undefined && first.body.token.project !== undefined
        ? first
        : await inProject(app, c, first.token, project)
    if (scoped instanceof Response) return scoped
    return answer(c, scoped.token, new Date(scoped.body.token.expires_at))
  })

  app.put(PATH, async (c) => {
    const token = sessionToken(httpInput(c).header)
    if (token === undefined) return refused(c, 401, 'Sign in.')
    const asked = await textsOf(c, ['project'])
    if (asked instanceof Response) return asked
    const scoped = await inProject(app, c, token, asked['project'])
    if (scoped instanceof Response) return scoped
    return answer(c, scoped.token, new Date(scoped.body.token.expires_at))
  })

  app.delete(PATH, async (c) => {
    const token = sessionToken(httpInput(c).header)
    if (token !== undefined) await ask(app, c, TOKENS, { method: 'DELETE', token })
    keepCookie(c, linksOf, undefined)
    return c.body(null, 204)
  })
}

function keepCookie(c: Context, linksOf: LinksSource, session: PageSession | undefined): void {
  c.header('Set-Cookie', sessionCookie(linksOf(httpInput(c)).root, session))
}

function shown(caller: Caller): object {
  const { userId, userName, projectId, projectName, roles, isAdmin } = caller
  const project = projectId === null ? null : { id: projectId, name: projectName }
  return { user: { id: userId, name: userName }, project, roles: [...roles], is_admin: isAdmin }
}

function refused(c: Context, status: 400 | 401 | 403 | 404 | 429 | 503, message: string): Response {
  return c.json({ message }, status)
}

/** The texts of these names in the body; the answer instead where it is not such a body. */
async function textsOf<Name extends string>(
  c: Context,
  names: readonly Name[],
): Promise<Partial<Record<Name, string>> | Response> {
  try {
    const body = ((await readJsonBody(httpInput(c), BODY)) ?? {}) as Record<string, unknown>
    const given = Object.entries(body).filter(([, value]) => value !== null && value !== '')
    for (const [name, value] of given) {
      const isText = typeof value === 'string' && value.length <= TEXT_LENGTH_MAX
      if (!isText || !(names as readonly string[]).includes(name))
        return refused(
          c,
          400,
          `${name} is not a text that is taken here: give ${names.join(', ')}.`,
        )
    }
    return Object.fromEntries(given) as Partial<Record<Name, string>>
  } catch (error) {
    return refused(c, 400, error instanceof Failure ? error.message : 'The body is not JSON.')
  }
}

/** A token like this one, in the project of this id or name; without one, in the first by name. */
async function inProject(app: Hono, c: Context, token: string, wanted: string | undefined) {
  const answer = await ask(app, c, '/identity/v3/auth/projects', { method: 'GET', token })
  if (!answer.ok) return forwarded(c, answer)
  const { projects } = (await answer.json()) as {
    readonly projects: readonly { readonly id: string; readonly name: string }[]
  }
  const byName = projects.toSorted((a, b) => a.name.localeCompare(b.name))
  const project = byName.find(({ id, name }) => wanted === undefined || [id, name].includes(wanted))
  if (project === undefined)
    return refused(
      c,
      403,
      wanted === undefined
        ? 'You have no role in any project: ask an administrator for one.'
        : `You have no role in project ${wanted}. Yours: ${byName.map(({ name }) => name).join(', ') || 'none'}.`,
    )
  const identity = { methods: ['token'], token: { id: token } }
  return issue(app, c, { auth: { identity, scope: { project: { id: project.id } } } })
}

/** The token that the identity service gives for a request; its refusal instead where it gives none. */
async function issue(app: Hono, c: Context, body: object) {
  const answer = await ask(app, c, TOKENS, { method: 'POST', body })
  const token = answer.headers.get('x-subject-token')
  if (!answer.ok || token === null) return forwarded(c, answer)
  return { token, body: (await answer.json()) as Issued }
}

async function forwarded(c: Context, answer: Response): Promise<Response> {
  const said = (await answer.json().catch(() => ({}))) as {
    readonly error?: { readonly message?: string }
  }
  const status = [400, 403, 404, 429, 503].includes(answer.status) ? answer.status : 401
  return refused(c, status as 401, said.error?.message ?? 'The sign-in failed.')
}

/** Asks this gateway itself, as from the same peer: its limits and lockouts hold as for any client. */
async function ask(
  app: Hono,
  c: Context,
  path: string,
  {
    method,
    body,
    token,
  }: { readonly method: string; readonly body?: object; readonly token?: string },
): Promise<Response> {
  const { header } = httpInput(c)
  const headers: Record<string, string> = {}
  for (const name of ORIGIN_HEADERS) {
    const value = header(name)
    if (value !== undefined) headers[name] = value
  }
  if (token !== undefined)
    Object.assign(headers, { 'x-auth-token': token, 'x-subject-token': token })
  const text = body === undefined ? undefined : JSON.stringify(body)
  if (text !== undefined)
    Object.assign(headers, {
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(text)),
    })
  const request = new Request(`http://localhost${path}`, { method, headers, body: text ?? null })
  const incoming = (c.env as { readonly incoming?: IncomingMessage } | undefined)?.incoming
  const env = incoming && { incoming: { headers, socket: incoming.socket } }
  return app.fetch(request, env)
}
