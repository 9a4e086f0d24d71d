import type { IncomingMessage } from 'node:http'
import type { Context, Hono } from 'hono'
import { type ErrorKind, Failure } from '#common/errors.ts'
import type { GivenToken, NamedProject, SignIn } from '../../app/identity/sign-in.ts'
import { TooManyRequests } from '../../app/request-limiter.ts'
import { httpInput } from '../http-input.ts'

const TOKENS = '/auth/tokens?nocatalog'
/** What tells the identity service from where somebody signs in. */
const ORIGIN_HEADERS = ['host', 'x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host']

interface Asked {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly body?: object
  readonly token?: string
}

/**
 * The identity service in here, for somebody who makes the request `c`. This gateway asks itself as from the same peer:
 * its limits, its lockouts and its audit hold as for any client.
 */
export function ownSignIn(app: Hono, c: Context): SignIn {
  const issue = (auth: object) => issued(app, c, { auth })
  return {
    byPassword: ({ name, password, domain }, { isScoped }) => {
      const user = { name, password, domain: { name: domain } }
      const identity = { methods: ['password'], password: { user } }
      return issue({ identity, ...(!isScoped && { scope: 'unscoped' }) })
    },
    projectsOf: async (token) => {
      const answer = await ask(app, c, '/auth/projects', { method: 'GET', token })
      if (!answer.ok) throw await failureOf(answer)
      return ((await answer.json()) as { readonly projects: readonly NamedProject[] }).projects
    },
    inProject: (token, id) => {
      const identity = { methods: ['token'], token: { id: token } }
      return issue({ identity, scope: { project: { id } } })
    },
    revoke: async (token) => void (await ask(app, c, TOKENS, { method: 'DELETE', token })),
  }
}

async function issued(app: Hono, c: Context, body: object): Promise<GivenToken> {
  const answer = await ask(app, c, TOKENS, { method: 'POST', body })
  const token = answer.headers.get('x-subject-token')
  if (!answer.ok || token === null) throw await failureOf(answer)
  const { token: shown } = (await answer.json()) as {
    readonly token: { readonly expires_at: string; readonly project?: object }
  }
  const hasProject = shown.project !== undefined
  return { token, expiresAt: new Date(shown.expires_at), hasProject }
}

const KINDS: Readonly<Record<number, ErrorKind>> = {
  400: 'invalid',
  403: 'forbidden',
  404: 'not-found',
  503: 'unavailable',
}
const SECOND_MS = 1_000

async function failureOf(answer: Response): Promise<Failure> {
  const said = (await answer.json().catch(() => ({}))) as {
    readonly error?: { readonly message?: string }
  }
  const message = said.error?.message ?? 'The sign-in failed.'
  if (answer.status === 429)
    return new TooManyRequests(message, SECOND_MS * Number(answer.headers.get('retry-after') ?? 1))
  return new Failure(KINDS[answer.status] ?? 'unauthenticated', message)
}

async function ask(
  app: Hono,
  c: Context,
  path: string,
  { method, body, token }: Asked,
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
  const url = `http://localhost/identity/v3${path}`
  const request = new Request(url, { method, headers, body: text ?? null })
  const incoming = (c.env as { readonly incoming?: IncomingMessage } | undefined)?.incoming
  const env = incoming && { incoming: { headers, socket: incoming.socket } }
  return app.fetch(request, env)
}
