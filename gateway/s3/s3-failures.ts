import { Failure, isFailure } from '#common/errors.ts'
import type { S3Operation } from './s3-client.ts'
import type { S3Settings } from './s3-settings.ts'

interface Refusal {
  readonly status: number
  /** The body: XML with a code, if S3 sent one. */
  readonly text: string
}

/** Codes of refusals that say that there is no room. */
const FULL = new Set(['QuotaExceeded', 'InsufficientStorage', 'XMinioStorageFull'])
/** Codes that come with 400 and may not come again: the body was changed or cut off on its way. */
const IN_TRANSIT = new Set([
  'BadDigest',
  'XAmzContentSHA256Mismatch',
  'RequestTimeout',
  'IncompleteBody',
])
const TEXT_MAX = 200

class S3Refusal extends Failure {
  readonly mayPass: boolean

  constructor(message: string, detail: string, canPass: boolean) {
    super('unavailable', message, { detail })
    this.mayPass = canPass
  }
}

/** The failure for an answer that is none: users see that images are unavailable, operators the reason. */
export function refusedBy(
  { endpoint, bucket }: S3Settings,
  operation: S3Operation,
  { status, text }: Refusal,
): Failure {
  const code = /<Code>([A-Za-z0-9]{1,64})<\/Code>/.exec(text)?.[1] ?? ''
  const reason = code === '' ? text.slice(0, TEXT_MAX) : code
  const detail = `bucket ${bucket} at ${endpoint} answered ${status} ${reason} to ${operation}`
  if (status === 507 || FULL.has(code))
    return new S3Refusal('The image store has no room left.', detail, false)
  const canPass = status >= 500 ? status !== 501 : status === 429 || IN_TRANSIT.has(code)
  return new S3Refusal('The image store cannot be used right now.', detail, canPass)
}

/** The failure for no answer. */
export function notAnswered(
  { endpoint, bucket }: S3Settings,
  operation: S3Operation,
  cause: unknown,
): Failure {
  return new Failure('unavailable', 'The image store cannot be used right now.', {
    cause,
    detail: `bucket ${bucket} at ${endpoint} did not answer to ${operation}`,
  })
}

/** True for what may be answered otherwise when it is tried again. An aborted request is not tried again. */
export function mayPass(error: unknown): boolean {
  if (error instanceof S3Refusal) return error.mayPass
  return !isFailure(error) && (error as Error).name !== 'AbortError'
}
