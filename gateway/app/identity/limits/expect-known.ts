import { Failure } from '#common/errors.ts'

/** Throws `invalid`, in Keystone's words, for the id of something that is not there. */
export function expectKnown(isKnown: boolean, attribute: string, target: string): void {
  if (isKnown) return
  throw new Failure(
    'invalid',
    `Expecting to find ${attribute} in ${target}. The server could not comply with the request since it is either malformed or otherwise incorrect. The client is assumed to be in error.`,
  )
}
