import { Failure } from '#common/errors.ts'
import { findTrust } from '../../db/identity/trusts.ts'
import type { Identity } from './identity.ts'
import { type IssuedToken, issueToken, loginRefused, type Proof } from './issue-token.ts'
import { isUsable } from './trust.ts'

/**
 * A token with what the trust lends, which counts as a use. Throws `unauthenticated` for a trust that is not there, expired or used
 * up, and `forbidden`, as Keystone does, for one of another trustee, and for one whose trustor is disabled or lacks one of its roles.
 */
export async function tokenByTrust(
  identity: Identity,
  proof: Proof,
  id: string,
): Promise<IssuedToken> {
  const trust = await findTrust(identity.db, id)
  if (trust === undefined || !isUsable(trust, new Date(identity.clock.now())))
    throw loginRefused(`a login by the trust ${id}, which is not there, expired or used up`)
  const { trusteeUserId, projectId, expiresAt } = trust
  if (trusteeUserId !== proof.userId) throw new Failure('forbidden', 'User is not a trustee.')
  if (projectId === null)
    throw new Failure('forbidden', `The trust ${id} has no project, so it delegates no roles.`)
  const byTrust = { ...proof, trustId: id, endsAt: expiresAt }
  const token = await issueToken(identity, byTrust, { type: 'project', id: projectId })
  if (token === undefined)
    throw new Failure(
      'forbidden',
      `The trust ${id} delegates no roles now: its trustor or project is disabled, or the trustor has lost one of its roles.`,
    )
  return token
}
