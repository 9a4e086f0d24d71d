import type { Tx } from '#common/db/database.ts'
import { type InstanceMapping, lockMapping } from '../../db/instance-mappings.ts'
import { queueUsageCharge } from '../../db/quota-usages.ts'
import { markSoftDeleted } from '../../db/soft-deleted-servers.ts'
import { userOfServer } from '../../db/user-usages.ts'
import { chargeQuota } from './charge-quota.ts'
import { refundQuota } from './refund-quota.ts'
import type { QuotaDeltas } from './resources.ts'

// Nova counts no server that is deleted softly (nova/objects/instance.py `_get_counts_in_db`).

/** Afterwards the server is kept, and its project not charged for it. */
export async function softDeleteUncharged(tx: Tx, serverId: string): Promise<void> {
  const mapping = await lockMapping(tx, serverId)
  if (mapping === undefined) return
  await markSoftDeleted(tx, serverId, { isKept: true, isCharged: false })
  if (mapping.isCharged) refundQuota(tx, mapping.projectId, chargeOf(mapping))
}

/** Afterwards the project is charged for the kept server, which may come back. Throws `over-quota`. */
export async function chargeKept(tx: Tx, serverId: string): Promise<void> {
  const mapping = await lockMapping(tx, serverId)
  if (mapping === undefined || mapping.isCharged) return
  await markSoftDeleted(tx, serverId, { isKept: true, isCharged: true })
  const { projectId } = mapping
  const userId = (await userOfServer(tx, serverId)) ?? ''
  await chargeQuota(tx, { projectId, userId }, chargeOf(mapping))
}

/** Afterwards the server is an ordinary one again, and charged regardless of the limits, because it exists. */
export async function endKeeping(tx: Tx, serverId: string): Promise<void> {
  const mapping = await lockMapping(tx, serverId)
  if (mapping === undefined) return
  await markSoftDeleted(tx, serverId, { isKept: false, isCharged: true })
  if (mapping.isCharged) return
  for (const [resource, units] of Object.entries(chargeOf(mapping)))
    queueUsageCharge(tx, { ownerId: mapping.projectId, resource }, units)
}

function chargeOf({ cores, ramMb }: InstanceMapping): QuotaDeltas {
  return { cores, instances: 1, ram: ramMb }
}
