import { type ErrorKind, Failure } from '#common/errors.ts'

const KINDS: Readonly<Record<number, ErrorKind>> = {
  400: 'invalid',
  401: 'unauthenticated',
  403: 'forbidden',
  404: 'not-found',
  409: 'conflict',
  410: 'not-found',
  412: 'conflict',
  501: 'unsupported',
  503: 'unavailable',
}

/** The failure for an unsuccessful answer, with what to do about it. */
export function refusalOf(status: number, url: string, body: string): Failure {
  const kind = KINDS[status] ?? 'internal'
  const message = messageIn(body) ?? `${url} was answered with ${status}.`
  return new Failure(kind, [message, ...advice(kind)].join(' '))
}

/** The message of a problem (RFC 9457), or of the envelope of an OpenStack service; a page for people has none. */
function messageIn(text: string): string | undefined {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    return undefined
  }
  if (typeof body !== 'object' || body === null) return undefined
  const detail = messageOf(body, 'detail')
  if (detail !== undefined) return detail
  const [inner] = Object.values(body) as readonly unknown[]
  // Placement's envelope is a list of errors.
  if (Array.isArray(inner)) return messageOf(inner[0], 'detail')
  return messageOf(inner, 'message')
}

function messageOf(part: unknown, name: string): string | undefined {
  if (typeof part !== 'object' || part === null) return undefined
  const text = (part as Readonly<Record<string, unknown>>)[name]
  return typeof text === 'string' ? text : undefined
}

function advice(kind: ErrorKind): readonly string[] {
  if (kind === 'forbidden')
    return ['Use the account of an operator: --os-cloud weir-admin, or a user with the role admin.']
  if (kind === 'unauthenticated')
    return ['Check which cloud is meant: --os-cloud, OS_CLOUD, clouds.yaml.']
  return []
}
