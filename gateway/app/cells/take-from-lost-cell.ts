import type { Tx } from '#common/db/database.ts'
import type { InstanceId } from '#common/ids.ts'
import type { Cell } from '../../cell-client/cell.ts'
import { findServer } from '../../db/find-server.ts'
import { keepForMove } from '../../db/image-snapshots.ts'
import { type InstanceMapping, lockMapping } from '../../db/instance-mappings.ts'
import { queueTakeFromCell } from '../../db/lost-cells.ts'
import { queueIndexReassignment } from '../../db/server-index.ts'
import { lockIntent, removeIntent } from '../../db/server-intents.ts'
import type { ComputeDeps } from '../compute.ts'
import { releaseServerGroup } from '../server-groups/members.ts'
import { recordDeleted } from '../servers/acts/record-deleted.ts'
import { lostCell } from '../servers/boot/faults.ts'

/**
 * Afterwards the server is no longer the lost cell's: gone if it was to be deleted, on its way to another cell if it
 * never ran, and else in no cell, in ERROR, because its disks are lost; the image of a shelved one is kept.
 */
export async function takeFromLostCell(
  tx: Tx,
  deps: ComputeDeps,
  cell: Cell,
  serverId: InstanceId,
): Promise<void> {
  const mapping = await lockMapping(tx, serverId)
  if (mapping === undefined || mapping.cellId !== cell.id || mapping.isNotBuilt) return
  await releaseServerGroup(tx, serverId, cell.id)
  const intent = await lockIntent(tx, serverId)
  if (mapping.isDeleting || intent?.action === 'delete') {
    if (intent !== undefined) await removeIntent(tx, intent)
    queueTakeFromCell(tx, serverId, { to: 'deletion' })
    await recordDeleted(tx, deps, null, [{ serverId, attempt: mapping.attempt + 1 }])
    return
  }
  const server = await findServer(tx, serverId)
  if (server?.launchedAt === null) return retryElsewhere(tx, cell, mapping)
  // A shelved server has its disk in an image, which the cell has not taken with it.
  await keepForMove(tx, serverId)
  giveUp(tx, deps, cell, mapping)
}

function retryElsewhere(
  tx: Tx,
  { id: cellId, name }: Cell,
  { serverId, attempt }: InstanceMapping,
) {
  queueTakeFromCell(tx, serverId, {
    to: 'next-cell',
    cellId,
    reason: `Cell ${name} was declared lost.`,
  })
  queueIndexReassignment(tx, {
    serverId,
    cellId,
    attempt: attempt + 1,
    vmState: 'building',
    taskState: 'scheduling',
    fault: null,
  })
}

function giveUp(
  tx: Tx,
  { clock }: ComputeDeps,
  { id: lostCellId, name }: Cell,
  mapping: InstanceMapping,
): void {
  const { serverId, attempt } = mapping
  queueTakeFromCell(tx, serverId, { to: 'nowhere', lostCellId })
  queueIndexReassignment(tx, {
    serverId,
    cellId: null,
    attempt: attempt + 1,
    vmState: 'error',
    taskState: null,
    fault: lostCell(clock.now(), name),
  })
}
