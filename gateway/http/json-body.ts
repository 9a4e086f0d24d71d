import { Failure } from '#common/errors.ts'
import { withDeadline } from '#common/with-deadline.ts'
import type { HttpInput } from './http-input.ts'
import { HttpRefusal } from './http-refusal.ts'

/** No JSON request of any served API is near this. */
export const BODY_BYTES_MAX = 1_048_576
/** The limit of oslo.middleware, and what Nova takes `text/plain` for: its clients' default, which says nothing. */
export const NOVA_BODY: BodyLimits = { bytesMax: 114_688, takesPlainForNone: true }
/** A client that sends a body more slowly than this holds a connection and memory for nothing. */
const BODY_TIME_MAX_MS = 60_000
/** Deeper than any document describes; keeps recursion over a body bounded. */
const DEPTH_MAX = 32
/** JSON can contain half of a surrogate pair, which is not a character: neither UTF-8 nor the database can store it. */
const SURROGATE = /\\u[dD][89a-fA-F]/

/** `application/json`, its `+json` kin, and Glance's `application/openstack-images-v2.1-json-patch`. */
const JSON_MEDIA = /^application\/[\w.+-]*json\b/i
const PLAIN_MEDIA = /^text\/plain\b/i

export interface BodyLimits {
  readonly bytesMax?: number
  readonly timeMaxMs?: number
  /** A body sent as `text/plain` counts as none, which is then refused as `invalid`. */
  readonly takesPlainForNone?: boolean
}

/**
 * The parsed body, or undefined when there is none. Throws `too-large` beyond `bytesMax`, `invalid` for a body that
 * is not JSON, nests too deep or holds invalid text; refuses with 415 another declared type, and with 408 a body that
 * has not come within `timeMaxMs`.
 */
export async function readJsonBody(
  { request, header, isFramed }: HttpInput,
  limits: BodyLimits = {},
): Promise<unknown> {
  const { bytesMax = BODY_BYTES_MAX, timeMaxMs = BODY_TIME_MAX_MS } = limits
  const length = header('content-length')
  if (length !== undefined && Number(length) > bytesMax) throw tooLarge(bytesMax)
  const isChunked = header('transfer-encoding') !== undefined
  if (isFramed && !isChunked && (length === undefined || length === '0')) return undefined
  // Node's parser holds the peer to a declared length; anything else must be counted.
  const coming = isFramed && !isChunked ? request.text() : countedText(request, bytesMax)
  const text = await withDeadline(
    timeMaxMs,
    coming.catch(hungUp),
    () => new HttpRefusal(408, `The request body did not come within ${timeMaxMs / 1_000} s.`),
  )
  if (text === '') return undefined
  refuseOtherMedia(header('content-type'), limits)
  return parse(text)
}

/** Only the peer can end a body before its end: it hears no answer, and nothing is to be repaired here. */
function hungUp(cause: unknown): never {
  if (cause instanceof Failure) throw cause
  throw new Failure('invalid', 'The request ended before its body was whole.', { cause })
}

function refuseOtherMedia(type: string | undefined, { takesPlainForNone }: BodyLimits): void {
  if (type === undefined || type === '' || JSON_MEDIA.test(type)) return
  if (takesPlainForNone === true && PLAIN_MEDIA.test(type))
    throw new Failure(
      'invalid',
      'Content-Type text/plain is not supported. Send the body as application/json.',
    )
  throw new HttpRefusal(415, `Content-Type ${type} is not supported: send application/json.`)
}

async function countedText(request: Request, bytesMax: number): Promise<string> {
  if (request.body === null) return ''
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body) {
    size += chunk.byteLength
    if (size > bytesMax) throw tooLarge(bytesMax)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function parse(text: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new Failure('invalid', 'Malformed request body: it is not valid JSON.')
  }
  if (!isWithinDepth(value, DEPTH_MAX))
    throw new Failure(
      'invalid',
      `Malformed request body: it nests deeper than ${DEPTH_MAX} levels.`,
    )
  if (SURROGATE.test(text) && !isWellFormed(value))
    throw new Failure('invalid', 'Malformed request body: it contains half of a surrogate pair.')
  return value
}

/** Of a value within bounded depth: keys and texts alike. */
function isWellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (typeof value !== 'object' || value === null) return true
  return Object.entries(value).every(([key, child]) => key.isWellFormed() && isWellFormed(child))
}

function isWithinDepth(value: unknown, left: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (left === 0) return false
  for (const child of Object.values(value)) if (!isWithinDepth(child, left - 1)) return false
  return true
}

function tooLarge(bytesMax: number): Failure {
  return new Failure('too-large', `The request body is larger than ${bytesMax} bytes.`)
}
