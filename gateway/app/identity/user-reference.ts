import { Failure } from '#common/errors.ts'
import type { UserReference } from '../../db/identity/users.ts'
import type { NamedChoice } from './login-request.ts'

/** The named user; throws `invalid` for a name without the domain in which it is unique. `what` is the field. */
export function userReference(choice: NamedChoice, what: string): UserReference {
  const { id, name, domain } = choice
  if (id !== undefined) return { id }
  if (name === undefined) throw new Failure('invalid', `${what} needs an 'id' or a 'name'.`)
  if (domain?.id === undefined && domain?.name === undefined)
    throw new Failure(
      'invalid',
      `${what} is given by name, so it needs a 'domain' with 'id' or 'name'.`,
    )
  return { name, domain }
}
