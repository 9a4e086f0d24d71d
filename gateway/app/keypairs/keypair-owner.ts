import { Failure } from '#common/errors.ts'
import type { Caller } from '../request-context.ts'

/** Whose keypairs are meant: the caller's own, or for administrators any user's. Throws `forbidden`. */
export function keypairOwner(
  caller: Pick<Caller, 'isAdmin' | 'userId'>,
  userId: string | undefined,
): string {
  // An empty name of a user is none, as in Nova.
  if (userId === undefined || userId === '' || userId === caller.userId) return caller.userId
  if (caller.isAdmin) return userId
  throw new Failure('forbidden', 'Only administrators may use the keypairs of other users.')
}
