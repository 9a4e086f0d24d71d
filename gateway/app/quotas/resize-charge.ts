import type { Tx } from '#common/db/database.ts'
import type { FlavorSnapshot } from '#openapi/wire/instance.ts'
import { lockMapping, setCharge } from '../../db/instance-mappings.ts'
import { userOfServer } from '../../db/user-usages.ts'
import { chargeQuota } from './charge-quota.ts'
import { refundQuota } from './refund-quota.ts'

type Size = Pick<FlavorSnapshot, 'vcpus' | 'memoryMb'>

/** Afterwards the server is charged for the larger of what it has and what it is to have. Throws `over-quota`. */
export async function reserveResize(
  tx: Tx,
  serverId: string,
  { vcpus, memoryMb }: Size,
): Promise<void> {
  const mapping = await lockMapping(tx, serverId)
  if (mapping === undefined) return
  const { cores, ramMb, projectId } = mapping
  const charge = { cores: Math.max(cores, vcpus), ramMb: Math.max(ramMb, memoryMb) }
  await setCharge(tx, serverId, { ...charge, isResizing: true })
  const deltas = { cores: charge.cores - cores, ram: charge.ramMb - ramMb }
  const userId = (await userOfServer(tx, serverId)) ?? ''
  await chargeQuota(tx, { projectId, userId }, deltas)
}

/** Afterwards the server is charged for this size, which is the only one it can come to. */
export async function settleResize(
  tx: Tx,
  serverId: string,
  { vcpus, memoryMb }: Size,
): Promise<void> {
  const mapping = await lockMapping(tx, serverId)
  if (mapping === undefined || !mapping.isResizing) return
  const { cores, ramMb, projectId } = mapping
  await setCharge(tx, serverId, { cores: vcpus, ramMb: memoryMb, isResizing: false })
  refundQuota(tx, projectId, { cores: cores - vcpus, ram: ramMb - memoryMb })
}
