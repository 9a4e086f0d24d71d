import { Failure } from '#common/errors.ts'
import { enforce } from '../policy.ts'
import type { Caller } from '../request-context.ts'
import { noSuch } from './model.ts'
import type { DomainRef } from './token-view.ts'

/**
 * Throws `forbidden` for a caller whom the rule does not allow, or whose token is for another domain than the object.
 * Undefined stands for the domain of a missing object: a token for a domain does not reveal which ids exist elsewhere.
 */
export function enforceInDomain(caller: Caller, rule: string, domainId: string | undefined): void {
  enforce(caller, rule)
  if (caller.domainId === null || caller.domainId === domainId) return
  throw new Failure(
    'forbidden',
    `You are not authorized to perform the requested action: ${rule}, in another domain than that of the token.`,
  )
}

/** The found object, if the caller may do this with it; throws `forbidden` as above, then `not-found`. */
export function reached<T extends { readonly domain: DomainRef }>(
  found: T | undefined,
  what: string,
  id: string,
  caller: Caller,
  rule: string,
): T {
  enforceInDomain(caller, rule, found?.domain.id)
  if (found === undefined) throw noSuch(what, id)
  return found
}

/**
 * The domain whose objects a list shows: the requested one, and with a token for a domain only that one. Null: the list
 * is empty.
 */
export function listedDomain(
  { domainId }: Caller,
  asked: string | undefined,
): string | undefined | null {
  if (domainId === null) return asked
  return asked === undefined || asked === domainId ? domainId : null
}

/** The domain something is made in: the one asked for, else the one of the token, of its project, or of its user. */
export function domainOfNew(caller: Caller, asked: string | undefined): string {
  return asked ?? caller.domainId ?? caller.projectDomainId ?? caller.userDomainId
}
