import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { chargeUsage, type UsageEntry, usageAndLimit } from '../../db/quota-usages.ts'
import { COUNTED_RESOURCES, DEFAULT_LIMITS, type QuotaDeltas } from './resources.ts'

interface Refusal {
  readonly resource: string
  readonly requested: number
  readonly used: number
  readonly limit: number
}

/**
 * Afterwards the project's ledger counts what was asked for. Throws `over-quota`, naming every resource that would
 * pass its limit, and then the transaction must not commit. Call it last: its rows are the most contended.
 */
export async function chargeQuota(tx: Tx, projectId: string, deltas: QuotaDeltas): Promise<void> {
  const refusals: Refusal[] = []
  for (const resource of COUNTED_RESOURCES) {
    const requested = deltas[resource] ?? 0
    if (requested <= 0) continue
    const fallbackLimit = DEFAULT_LIMITS[resource]
    const entry: UsageEntry = { ownerId: projectId, projectId, resource, fallbackLimit }
    if (await chargeUsage(tx, entry, requested)) continue
    refusals.push({ resource, requested, ...(await usageAndLimit(tx, entry)) })
  }
  if (refusals.length > 0) throw new Failure('over-quota', refusalText(refusals))
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
