import { Failure } from '#common/errors.ts'

/** The one sentence every refused content gets. */
export function unacceptable(format: string, reason: string): Failure {
  return new Failure(
    'invalid',
    `The uploaded data is not an acceptable ${format} image: ${reason}.`,
  )
}

/** Throws `invalid` with that sentence. */
export function refuse(format: string, reason: string): never {
  throw unacceptable(format, reason)
}
