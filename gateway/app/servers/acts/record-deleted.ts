import type { Tx } from '#common/db/database.ts'
import type { CellId } from '#common/ids.ts'
import { queueEvents } from '../../../db/event-inbox.ts'
import type { InstanceMapping } from '../../../db/instance-mappings.ts'
import { lockDeleting, queueMappingRemoval } from '../../../db/mapping-batches.ts'
import type { ServerAttempt } from '../../../db/server-attempts.ts'
import { queueIndexedDeleted } from '../../../db/server-index.ts'
import type { ComputeDeps } from '../../compute.ts'
import { refundQuota } from '../../quotas/refund-quota.ts'
import { leaveServerGroups } from '../../server-groups/members.ts'
import { releaseVolumes } from '../../volumes/hold-volume.ts'

/**
 * Afterwards servers that their cell has removed are gone: shown as deleted, with their ports released, their quota
 * returned and their groups left. Only servers that are being deleted and are mapped to this cell at this attempt
 * (null: to no cell) count. The mapping row is the gate, so everything happens once, however often the cell reports it.
 * Returns their number.
 */
export async function recordDeleted(
  tx: Tx,
  deps: Pick<ComputeDeps, 'network'>,
  cell: CellId | null,
  servers: readonly ServerAttempt[],
): Promise<number> {
  if (servers.length === 0) return 0
  const going = await lockDeleting(tx, cell, inOrder(servers))
  if (going.length === 0) return 0
  queueMappingRemoval(tx, going)
  queueIndexedDeleted(tx, going)
  queueEvents(
    tx,
    going.map(({ serverId }) => {
      return { type: 'server.deleted', serverId, details: { state: 'deleted' } }
    }),
  )
  const members = going.filter(({ groupId }) => groupId !== null)
  await leaveServerGroups(
    tx,
    members.map(({ serverId }) => serverId),
  )
  const holders = going.filter(({ hasVolumes }) => hasVolumes)
  await releaseVolumes(
    tx,
    holders.map(({ serverId }) => serverId),
  )
  await deps.network.release(
    tx,
    going.map(({ serverId }) => serverId),
  )
  refund(tx, going)
  return going.length
}

/** Every transaction locks servers in the same order, so that two never wait for each other. */
function inOrder(servers: readonly ServerAttempt[]): readonly ServerAttempt[] {
  return servers.toSorted((a, b) => (a.serverId < b.serverId ? -1 : 1))
}

function refund(tx: Tx, gone: readonly InstanceMapping[]): void {
  const charged = gone.filter(({ isCharged }) => isCharged)
  const byProject = [...Map.groupBy(charged, (mapping) => mapping.projectId)]
  for (const [projectId, mappings] of byProject.toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const sum = (of: (mapping: InstanceMapping) => number) =>
      mappings.reduce((total, mapping) => total + of(mapping), 0)
    refundQuota(tx, projectId, {
      instances: mappings.length,
      cores: sum(({ cores }) => cores),
      ram: sum(({ ramMb }) => ramMb),
    })
  }
}
