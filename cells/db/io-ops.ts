import { inArray, sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { builder, statement } from '#common/db/statement.ts'
import type { HostId } from '#common/ids.ts'
import type { Task } from '#common/states/instance-states.ts'
import { instances } from './schema/instances.ts'

/** Tasks that read or write much on a host's disks (nova/compute/stats.py: `io_workload`), with all their phases. */
const IO_TASKS: readonly Task[] = [
  'scheduling',
  'block_device_mapping',
  'networking',
  'spawning',
  'image_snapshot_pending',
  'image_snapshot',
  'image_pending_upload',
  'image_uploading',
  'image_backup',
  'resize_prep',
  'resize_migrating',
  'resize_migrated',
  'resize_finish',
  'resize_reverting',
  'rescuing',
  'rebuilding',
  'rebuild_block_device_mapping',
  'rebuild_spawning',
  'migrating',
  'shelving',
  'shelving_image_pending_upload',
  'shelving_image_uploading',
  'unshelving',
]

const IO_OPS = statement(
  builder
    .select({ host_id: instances.hostId, io_ops: sql`count(*)`.as('io_ops') })
    .from(instances)
    .where(inArray(instances.taskState, [...IO_TASKS]))
    .groupBy(instances.hostId),
)

/** How many servers of each host are being built, resized, moved, saved or rebuilt; hosts with none are left out. */
export async function ioOpsByHost(db: Executor): Promise<ReadonlyMap<HostId, number>> {
  const rows = await db.rows<{ host_id: HostId | null; io_ops: number }>(IO_OPS, {})
  return new Map(
    rows.flatMap(({ host_id, io_ops }) => (host_id === null ? [] : [[host_id, Number(io_ops)]])),
  )
}
