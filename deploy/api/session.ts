import { request } from 'undici'
import { Failure } from '#common/errors.ts'

/** A signed-in user of a deployment's API, as any client would be. */
export interface Session {
  readonly endpoint: string
  readonly token: string
}

export interface Account {
  readonly userName: string
  readonly password: string
  readonly projectName: string
}

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** From the endpoint's root, such as `/compute/v2.1/servers`. */
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

const CALL_LIMIT_MS = 30_000
const CALL_LIMIT = { headersTimeout: CALL_LIMIT_MS, bodyTimeout: CALL_LIMIT_MS }
const UPLOAD_LIMIT = { headersTimeout: 300_000, bodyTimeout: 300_000 }
const ANSWER_CHARS_MAX = 400

/** A token scoped to the account's project. Throws `unauthenticated` or `unavailable`. */
export async function signIn(endpoint: string, account: Account): Promise<Session> {
  const domain = { id: 'default' }
  const body = {
    auth: {
      identity: {
        methods: ['password'],
        password: { user: { name: account.userName, domain, password: account.password } },
      },
      scope: { project: { name: account.projectName, domain } },
    },
  }
  const { statusCode, headers, text } = await send(endpoint, {
    method: 'POST',
    path: '/identity/v3/auth/tokens',
    body,
  })
  const token = headers['x-subject-token']
  if (statusCode !== 201 || typeof token !== 'string') throw refusal('sign-in', statusCode, text)
  return { endpoint, token }
}

/** The JSON answer of a successful call; otherwise throws a `Failure` with the message of the service. */
export async function callApi<Answer>(session: Session, call: Call): Promise<Answer> {
  const { statusCode, text } = await send(session.endpoint, call, session.token)
  if (statusCode >= 300) throw refusal(`${call.method} ${call.path}`, statusCode, text)
  return (text === '' ? undefined : JSON.parse(text)) as Answer
}

/** Afterwards the image service has stored these bytes. */
export async function uploadBytes(
  session: Session,
  path: string,
  bytes: Uint8Array | NodeJS.ReadableStream,
): Promise<void> {
  const { statusCode, body } = await request(session.endpoint + path, {
    ...UPLOAD_LIMIT,
    method: 'PUT',
    headers: { 'x-auth-token': session.token, 'content-type': 'application/octet-stream' },
    body: bytes as Uint8Array,
  })
  const text = await body.text()
  if (statusCode >= 300) throw refusal(`PUT ${path}`, statusCode, text)
}

async function send(endpoint: string, call: Call, token?: string) {
  const { statusCode, headers, body } = await request(endpoint + call.path, {
    ...CALL_LIMIT,
    method: call.method,
    headers: {
      accept: 'application/json',
      ...(token === undefined ? {} : { 'x-auth-token': token }),
      ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...call.headers,
    },
    body: call.body === undefined ? null : JSON.stringify(call.body),
  }).catch((cause: unknown) => {
    throw new Failure('unavailable', `${endpoint} does not answer`, { cause })
  })
  return { statusCode, headers, text: await body.text() }
}

function refusal(what: string, statusCode: number, text: string): Failure {
  const kind =
    statusCode === 401 ? 'unauthenticated' : statusCode === 409 ? 'conflict' : 'unavailable'
  return new Failure(kind, `${what} was answered ${statusCode}: ${text.slice(0, ANSWER_CHARS_MAX)}`)
}
