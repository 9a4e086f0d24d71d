import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { chargeUsage, queueCharges, type UsageEntry, usageAndLimit } from '../../db/quota-usages.ts'
import { type ProjectUser, userLimits } from '../../db/user-quota-limits.ts'
import { usagesOfUser } from '../../db/user-usages.ts'
import { COUNTED_RESOURCES, DEFAULT_LIMITS, type QuotaDeltas, UNLIMITED } from './resources.ts'

interface Refusal {
  readonly resource: string
  readonly requested: number
  readonly used: number
  readonly limit: number
}

/**
 * Afterwards the project's ledger counts what was asked for. Throws `over-quota`, naming every resource that would
 * pass its limit, the project's or the user's, and then the transaction must not commit. Call it last: its rows are
 * the most contended, and what the user has is counted with what this transaction adds.
 */
export async function chargeQuota(tx: Tx, owner: ProjectUser, deltas: QuotaDeltas): Promise<void> {
  const { projectId } = owner
  const refusals: Refusal[] = []
  for (const { resource, units: requested, fallbackLimit } of chargesOf(deltas)) {
    const entry: UsageEntry = { ownerId: projectId, projectId, resource, fallbackLimit }
    if (await chargeUsage(tx, entry, requested)) continue
    refusals.push({ resource, requested, ...(await usageAndLimit(tx, entry)) })
  }
  if (refusals.length === 0) refusals.push(...(await userRefusals(tx, owner, deltas)))
  if (refusals.length > 0) throw new Failure('over-quota', refusalText(refusals))
}

async function userRefusals(
  tx: Tx,
  owner: ProjectUser,
  deltas: QuotaDeltas,
): Promise<readonly Refusal[]> {
  const limits = await userLimits(tx, owner)
  if (limits.size === 0) return []
  const usages = await usagesOfUser(tx, owner)
  return chargesOf(deltas).flatMap(({ resource, units: requested }) => {
    const limit = limits.get(resource) ?? UNLIMITED
    const used = (usages.get(resource) ?? 0) - requested
    return limit === UNLIMITED || used + requested <= limit
      ? []
      : [{ resource, requested, used, limit }]
  })
}

/**
 * The same in one statement that goes out with the commit, so that the rows are locked for no round trip. Where a
 * resource would pass its limit or was never used before, or the user has limits, the transaction fails with
 * `NotCharged`: `chargeQuota` then tells which, or finds room.
 */
export function queueQuotaCharge(tx: Tx, owner: ProjectUser, deltas: QuotaDeltas): void {
  const charges = chargesOf(deltas)
  if (charges.length > 0) queueCharges(tx, owner, charges, () => new NotCharged())
}

/** A queued charge did not fit: one of the limits would be exceeded. */
export class NotCharged extends Error {}

function chargesOf(deltas: QuotaDeltas) {
  return COUNTED_RESOURCES.map((resource) => {
    return { resource, units: deltas[resource] ?? 0, fallbackLimit: DEFAULT_LIMITS[resource] }
  }).filter(({ units }) => units > 0)
}

/** Nova's words (nova/exception.py `TooManyInstances`), which clients and people know. */
function refusalText(refusals: readonly Refusal[]): string {
  const listed = (pick: (refusal: Refusal) => string | number) => refusals.map(pick).join(', ')
  const names = listed(({ resource }) => resource)
  const requested = listed((refusal) => refusal.requested)
  const used = listed((refusal) => refusal.used)
  const limits = listed((refusal) => refusal.limit)
  return `Quota exceeded for ${names}: Requested ${requested}, but already used ${used} of ${limits} ${names}`
}
