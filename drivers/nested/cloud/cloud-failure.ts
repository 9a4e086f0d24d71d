import { type ErrorKind, Failure } from '#common/errors.ts'

/** An answer of a cloud other than a success. */
export interface Refusal {
  /** Such as `POST /servers of compute`. */
  readonly what: string
  readonly status: number
  readonly body: string
}

/** Any other status says nothing of the outcome: `unavailable`. */
const KINDS: Readonly<Record<number, ErrorKind>> = {
  400: 'invalid',
  404: 'not-found',
  405: 'unsupported',
  406: 'unsupported',
  409: 'conflict',
  410: 'not-found',
  413: 'too-large',
  415: 'unsupported',
  501: 'unsupported',
}

const TEXTS: Readonly<Partial<Record<ErrorKind, string>>> = {
  forbidden: 'The nested cloud does not allow this of its project.',
  'no-capacity': 'The nested cloud has no room left in its quota.',
  unavailable: 'The nested cloud does not answer.',
}

const DETAIL_MAX = 500

/**
 * A refusal of the cloud. Its message is for operators: it names users, hosts and addresses there. An answer that does
 * not come from the service itself, such as a proxy's page, leaves the outcome unknown.
 */
export function cloudFailure({ what, status, body }: Refusal): Failure {
  const message = messageOf(body)
  const kind = message === undefined ? 'unavailable' : kindOf(status, message)
  return new Failure(kind, TEXTS[kind] ?? 'The nested cloud refused.', {
    detail: `${what} answered ${status}: ${(message ?? body).slice(0, DETAIL_MAX)}`,
  })
}

function kindOf(status: number, message: string): ErrorKind {
  // Nova answers 403 beyond a quota, Neutron 409, and Cinder 413.
  if ([403, 409, 413].includes(status) && /quota|exceeded/i.test(message)) return 'no-capacity'
  return status === 403 ? 'forbidden' : (KINDS[status] ?? 'unavailable')
}

/** The message in any of the envelopes that OpenStack's services have; undefined for other bodies. */
function messageOf(body: string): string | undefined {
  const parsed = parse(body)
  if (typeof parsed !== 'object' || parsed === null) return undefined
  // A problem of RFC 9457, as another Weir tells them of its cells.
  if ('detail' in parsed && typeof parsed.detail === 'string') return parsed.detail
  const [inner] = Object.values(parsed as Record<string, unknown>)
  if (typeof inner === 'string') return 'message' in parsed ? String(parsed.message) : inner
  if (typeof inner !== 'object' || inner === null) return undefined
  return 'message' in inner ? String(inner.message) : JSON.stringify(inner)
}

/** Glance words its refusals in HTML: the status' name as title and heading, then its words. Proxies have none. */
function parse(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    const title = between(body, '<title>', '</title>')
    if (title === undefined || !/^\d{3} ./.test(title)) return undefined
    const message = between(body, `<h1>${title}</h1>`, '<')?.trim()
    return message === undefined || message === '' ? undefined : { message }
  }
}

/** The text between two others; up to the end if the second is missing. */
function between(text: string, start: string, end: string): string | undefined {
  const at = text.indexOf(start)
  if (at === -1) return undefined
  const rest = text.slice(at + start.length)
  const stop = rest.indexOf(end)
  return stop === -1 ? rest : rest.slice(0, stop)
}
