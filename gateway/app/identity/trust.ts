import { Failure } from '#common/errors.ts'
import type { TrustRef } from './token-view.ts'

/** A delegation from one user to another: some roles in one project. */
export interface Trust extends TrustRef {
  /** Null: it lends nothing. */
  readonly projectId: string | null
  readonly roleIds: readonly string[]
  readonly expiresAt: Date | null
  /** How many tokens can still be had; null: any number. */
  readonly remainingUses: number | null
  /** The trust by which this one was given on. */
  readonly redelegatedTrustId: string | null
  /** How many further times it can be given on. */
  readonly redelegationCount: number
  readonly createdAt: Date
}

/** A requested trust. */
export interface NewTrust extends TrustRef {
  readonly projectId: string | null
  readonly roleIds: readonly string[]
  readonly expiresAt: Date | null
  readonly remainingUses: number | null
  readonly allowRedelegation: boolean
  /** Undefined: as often as may be. */
  readonly redelegationCount: number | undefined
}

/** As Keystone's `[trust] max_redelegation_count`. */
const REDELEGATIONS_MAX = 3

/** True while tokens can be had by the trust, which is shown as long. */
export function isUsable(
  { expiresAt, remainingUses }: Pick<Trust, 'expiresAt' | 'remainingUses'>,
  now: Date,
): boolean {
  return (expiresAt === null || expiresAt > now) && remainingUses !== 0
}

/** How often a trust that is not given on by another can be: throws `forbidden` for too often, `invalid` together with counted uses. */
export function firstRedelegations({
  allowRedelegation,
  redelegationCount,
  remainingUses,
}: NewTrust): number {
  if (!allowRedelegation || redelegationCount === 0) return 0
  if (remainingUses !== null)
    throw new Failure('invalid', 'remaining_uses must not be set if redelegation is allowed')
  const wanted = redelegationCount ?? REDELEGATIONS_MAX
  if (wanted > REDELEGATIONS_MAX)
    throw new Failure(
      'forbidden',
      `Requested redelegation depth of ${wanted} is greater than allowed ${REDELEGATIONS_MAX}`,
    )
  return wanted
}

/**
 * The limits of a trust that redelegates another: no more roles, time, or right to impersonate than that one, and one
 * delegation less. Throws `forbidden` for more.
 */
export function redelegated(
  by: Trust,
  asked: NewTrust,
): Pick<Trust, 'expiresAt' | 'redelegationCount'> {
  if (by.redelegationCount < 1)
    throw new Failure(
      'forbidden',
      `The trust ${by.id} cannot be redelegated: its redelegation_count is ${by.redelegationCount}.`,
    )
  if (asked.remainingUses !== null)
    throw new Failure(
      'forbidden',
      'remaining_uses must not be set for a trust that can be redelegated.',
    )
  if (asked.projectId !== by.projectId)
    throw new Failure('forbidden', `The trust ${by.id} is for another project.`)
  const missing = asked.roleIds.filter((id) => !by.roleIds.includes(id))
  if (missing.length > 0)
    throw new Failure(
      'forbidden',
      `Some of the requested roles are not in the trust ${by.id}: ${missing.join(', ')}.`,
    )
  if (asked.impersonation && !by.impersonation)
    throw new Failure(
      'forbidden',
      `Impersonation is not allowed, because the trust ${by.id} does not allow it.`,
    )
  if (asked.expiresAt !== null && by.expiresAt !== null && asked.expiresAt > by.expiresAt)
    throw new Failure('forbidden', `The trust ${by.id} ends before the requested expires_at.`)
  const redelegationCount = furtherRedelegations(by.redelegationCount - 1, asked)
  return { expiresAt: asked.expiresAt ?? by.expiresAt, redelegationCount }
}

function furtherRedelegations(left: number, asked: NewTrust): number {
  const { allowRedelegation, redelegationCount: wanted } = asked
  if (!allowRedelegation || wanted === 0) return 0
  if (wanted !== undefined && wanted !== left)
    throw new Failure(
      'forbidden',
      `The redelegation_count of a redelegated trust is ${left}: leave it out.`,
    )
  return left
}
