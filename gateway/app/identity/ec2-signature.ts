import { createHmac, hash, timingSafeEqual } from 'node:crypto'

/** A request signed with a secret key, as the service that received it describes it. */
export interface SignedRequest {
  readonly verb: string
  readonly host: string
  readonly path: string
  readonly params: Readonly<Record<string, string>>
  readonly headers: Readonly<Record<string, string>>
  /** SHA-256 of its body, in hex; version 4 only. */
  readonly bodyHash: string
}

/** When a signature was made, or ends; milliseconds since the epoch. */
export type SignedTime = { readonly madeAt: number } | { readonly endsAt: number }

const V4 = 'AWS4-HMAC-SHA256'
const SCOPE_PARTS = 4
/** Version 2 of what S3 signs has no time that is checked; of version 4 these services' signatures are taken. */
const S3_SERVICES: ReadonlySet<string> = new Set(['s3', 'iam', 'sts'])

/**
 * Whether the signature is the secret's for the request, in version 2 or 4 (docs.aws.amazon.com, "Signature Version 4
 * signing process"); undefined where it is not, or is of a version that is not known. Some clients sign without the port.
 */
export function verifyRequest(
  request: SignedRequest,
  signature: string,
  secret: string,
): SignedTime | undefined {
  if (isVersion4(request)) return verifyVersion4(request, signature, secret)
  if (request.params['SignatureVersion'] !== '2') return undefined
  const hosts = [request.host, request.host.split(':')[0] ?? '']
  if (!hosts.some((host) => isSame(signature, version2({ ...request, host }, secret))))
    return undefined
  const { Timestamp: made, Expires: ends } = request.params
  return timeOf(made) ?? endOf(ends)
}

/** Whether the signature is the secret's for the text that a client of S3 signed. */
export function verifyText(text: string, signature: string, secret: string): boolean {
  if (!text.startsWith('AWS4'))
    return isSame(signature, createHmac('sha1', secret).update(text).digest('base64'))
  const [algorithm, , scope = '', ...rest] = text.split('\n')
  const parts = scope.split('/')
  const isKnown = S3_SERVICES.has(parts[2] ?? '') && isScope(parts)
  if (algorithm !== V4 || rest.length !== 1 || !isKnown) return false
  return isSame(signature, sign(keyOf(parts, secret), text).toString('hex'))
}

function isVersion4({ headers, params }: SignedRequest): boolean {
  return headers['Authorization']?.startsWith(V4) === true || params['X-Amz-Algorithm'] === V4
}

function version2({ verb, host, path, params }: SignedRequest, secret: string): string {
  const signed = { ...params, SignatureMethod: 'HmacSHA256' }
  const text = `${verb}\n${host}\n${path}\n${canonicalQuery(signed)}`
  return createHmac('sha256', secret).update(text).digest('base64')
}

function verifyVersion4(
  request: SignedRequest,
  signature: string,
  secret: string,
): SignedTime | undefined {
  const { verb, path, params, headers, bodyHash } = request
  const [, ...parts] = paramOf(request, 'Credential').split('/')
  const date = headers['X-Amz-Date'] ?? params['X-Amz-Date'] ?? ''
  if (!isScope(parts) || !date.startsWith(parts[0]!)) return undefined
  const signedHeaders = paramOf(request, 'SignedHeaders')
  const query = verb.toUpperCase() === 'POST' ? '' : canonicalQuery(params)
  const canonical = [
    verb.toUpperCase(),
    path,
    query,
    `${canonicalHeaders(headers, signedHeaders)}\n`,
    signedHeaders,
    bodyHash,
  ].join('\n')
  const text = [V4, date, parts.join('/'), hash('sha256', canonical)].join('\n')
  const isRight = isSame(signature, sign(keyOf(parts, secret), text).toString('hex'))
  return isRight ? timeOf(date) : undefined
}

/** The date, the region, the service and a constant. */
function isScope(parts: readonly string[]): boolean {
  const [date = '', , , end] = parts
  return parts.length === SCOPE_PARTS && date !== '' && end === 'aws4_request'
}

function keyOf(scope: readonly string[], secret: string): Buffer {
  return scope.reduce<Buffer>((key, part) => sign(key, part), Buffer.from(`AWS4${secret}`))
}

function sign(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

/** Of the header Authorization, or where there is none of the query. */
function paramOf({ headers, params }: SignedRequest, name: string): string {
  const header = headers['Authorization']
  if (header === undefined) return params[`X-Amz-${name}`] ?? ''
  const [, after = ''] = header.split(`${name}=`)
  return after.split(',')[0] ?? ''
}

function canonicalHeaders(headers: SignedRequest['headers'], signed: string): string {
  const lower = new Map(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase().trim(), value.trim()]),
  )
  const named = signed.split(';').filter((name) => lower.has(name))
  return named.map((name) => `${name}:${lower.get(name)}`).join('\n')
}

function canonicalQuery(params: SignedRequest['params']): string {
  return Object.keys(params)
    .toSorted()
    .map((name) => `${quoted(name)}=${quoted(params[name]!)}`)
    .join('&')
}

/** As RFC 3986 has it: everything but letters, digits and `-._~`. */
function quoted(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

const TIME = /^(\d{4})-?(\d\d)-?(\d\d)T(\d\d):?(\d\d):?(\d\d)(?:\.\d{1,9})?Z?$/

function parsed(text: string | undefined): number | undefined {
  const [, year, month, day, hour, minute, second] = TIME.exec(text ?? '') ?? []
  if (year === undefined) return undefined
  const at = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
  return Number.isNaN(at) ? undefined : at
}

function timeOf(text: string | undefined): SignedTime | undefined {
  const madeAt = parsed(text)
  return madeAt === undefined ? undefined : { madeAt }
}

function endOf(text: string | undefined): SignedTime | undefined {
  const endsAt = parsed(text)
  return endsAt === undefined ? undefined : { endsAt }
}

function isSame(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}
