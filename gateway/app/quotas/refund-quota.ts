import type { Tx } from '#common/db/database.ts'
import { queueUsageRefund } from '../../db/quota-usages.ts'
import { COUNTED_RESOURCES, type QuotaDeltas } from './resources.ts'

/** Afterwards the project's ledger counts so much less, never below zero. Call it last, as `chargeQuota`. */
export function refundQuota(tx: Tx, projectId: string, deltas: QuotaDeltas): void {
  for (const resource of COUNTED_RESOURCES) {
    const released = deltas[resource] ?? 0
    if (released > 0) queueUsageRefund(tx, { ownerId: projectId, resource }, released)
  }
}
