import { Failure } from '#common/errors.ts'

/** Throws `invalid` with the one sentence every refused content gets. */
export function refuse(format: string, reason: string): never {
  throw new Failure('invalid', `The uploaded data is not an acceptable ${format} image: ${reason}.`)
}
