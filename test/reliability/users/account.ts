import { callHttp, type HttpAnswer, jsonOf } from './http.ts'

/** Who signs in where. */
export interface Account {
  readonly userName: string
  readonly password: string
  readonly projectName: string
}

/** A user with a token, which works at every gateway. */
export interface SignedIn extends Account {
  readonly token: string
  readonly userId: string
  readonly projectId: string
}

export const MICROVERSION = '2.93'

/** A token scoped to the account's project; throws with the answer otherwise. */
export async function signIn(port: number, account: Account): Promise<SignedIn> {
  const domain = { id: 'default' }
  const { userName: name, password, projectName } = account
  const body = {
    auth: {
      identity: { methods: ['password'], password: { user: { name, domain, password } } },
      scope: { project: { name: projectName, domain } },
    },
  }
  const answer = await callHttp({
    port,
    method: 'POST',
    path: '/identity/v3/auth/tokens',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const token = answer.headers['x-subject-token']
  if (answer.status !== 201 || typeof token !== 'string')
    throw new Error(
      `Signing in as ${name} was answered ${answer.status}: ${refusalMessage(answer)}`,
    )
  const { user, project } = (
    jsonOf(answer) as { token: Record<'user' | 'project', { readonly id: string }> }
  ).token
  return { ...account, token, userId: user.id, projectId: project.id }
}

/** A parsed answer; throws unless the status is good. For set-up and reads that the record does not hold. */
export async function ask<T>(
  port: number,
  { token }: Pick<SignedIn, 'token'>,
  [method, path, body]: readonly [method: string, path: string, body?: unknown],
): Promise<T> {
  const answer = await callHttp({
    port,
    method,
    path,
    headers: headersOf(token),
    body: body === undefined ? undefined : JSON.stringify(body),
  })
  if (answer.status < 200 || answer.status >= 300)
    throw new Error(`${method} ${path} was answered ${answer.status}: ${refusalMessage(answer)}`)
  return jsonOf(answer) as T
}

export function headersOf(token: string): Readonly<Record<string, string>> {
  return {
    accept: 'application/json',
    'content-type': 'application/json',
    'x-auth-token': token,
    'openstack-api-version': `compute ${MICROVERSION}`,
  }
}

/** The message of a refusal, or why there was no answer. */
export function refusalMessage(answer: HttpAnswer): string {
  const body = jsonOf(answer)
  const [inner] = typeof body === 'object' && body !== null ? Object.values(body) : []
  const message =
    typeof inner === 'object' && inner !== null ? (inner as { message?: unknown }).message : inner
  return String(message ?? (answer.error === '' ? answer.text : answer.error)).slice(0, 300)
}
