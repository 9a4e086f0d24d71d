import { Failure } from '#common/errors.ts'
import { revokeToken } from '../../db/identity/tokens.ts'
import { enforce } from '../policy.ts'
import type { Caller } from '../request-context.ts'
import type { Identity } from './identity.ts'
import type { TokenView } from './token-view.ts'

/**
 * The token in the subject header: the caller's own, or any for callers who may validate others'. Throws `not-found`
 * for one that is not valid.
 */
export async function subjectToken(
  identity: Identity,
  caller: Caller,
  token: string | undefined,
): Promise<TokenView> {
  return allowedSubject(identity, caller, token, 'identity:validate_token:other')
}

/** Afterwards the token is not valid anywhere: here at once, at every other gateway within a second. */
export async function revokeSubjectToken(
  identity: Identity,
  caller: Caller,
  token: string | undefined,
): Promise<void> {
  const { record } = await allowedSubject(identity, caller, token, 'identity:revoke_token:other')
  await revokeToken(identity.db, record.id)
  identity.cache.drop(record.id)
}

async function allowedSubject(
  identity: Identity,
  caller: Caller,
  token: string | undefined,
  othersRule: string,
): Promise<TokenView> {
  if (token === undefined || token === '')
    throw new Failure(
      'invalid',
      'The header X-Subject-Token must contain the token that the request is about.',
    )
  const view = await identity.viewOf(token)
  if (view === undefined) throw new Failure('not-found', 'The token is not valid, or has expired.')
  if (view.user.id !== caller.userId) enforce(caller, othersRule)
  return view
}
