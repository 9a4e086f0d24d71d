import type { WorkContext } from '#common/context.ts'
import { Failure } from '#common/errors.ts'
import type { CellAct } from '#openapi/wire/act.ts'
import type { FeedBody } from '#openapi/wire/feed.ts'
import type { OperationRef } from '#openapi/wire/instance.ts'
import type { MigrationView } from '#openapi/wire/migration.ts'
import { queueFeedRow } from '../db/feed.ts'
import { updateSeenInstance } from '../db/instances.ts'
import { insertOperation } from '../db/operations.ts'
import { insertMigration } from '../db/server-migrations.ts'
import { endedEvent } from './action-event.ts'
import type { Conductor } from './conductor.ts'
import { faultOf, type Instance, instanceView } from './instance.ts'

/** A requested change of host. */
export type Move = Extract<CellAct, { isAwaited: boolean }>

export interface RefusedMove {
  readonly operation: OperationRef
  readonly move: Move
  readonly work: WorkContext
  /** Absent: the scheduler found no host. */
  readonly reason?: string
}

const NO_VALID_HOST = 'No valid host was found. There are not enough hosts available.'

/**
 * Afterwards it is on record that the instance cannot go to another host, and why. As in Nova it has a fault,
 * stays as it was, and is in ERROR where it was to be evacuated. Returns undefined when the instance changed meanwhile.
 * Throws `invalid` where the answer is waited for.
 */
export async function refuseMove(
  { db, clock, feedChanged }: Conductor,
  { operation, move, work, reason = NO_VALID_HOST }: RefusedMove,
  instance: Instance,
): Promise<Instance | undefined> {
  const at = clock.now()
  const fault = faultOf(reason, reason, at)
  const vmState = move.name === 'evacuate' ? 'error' : instance.vmState
  const to: Instance = { ...instance, version: instance.version + 1, vmState, fault }
  const event = endedEvent({
    serverId: instance.id,
    work,
    event: move.name,
    startedAt: at,
    finishedAt: at,
    host: null,
    failure: reason,
  })
  const migration = recordOf(move, instance, at)
  const rows: FeedBody[] = [
    { kind: 'instance', view: instanceView(to) },
    { kind: 'action-event', event },
  ]
  const isWritten = await db.transaction(async (tx) => {
    if (!(await updateSeenInstance(tx, instance, { to }))) return false
    await insertOperation(tx, operation, { outcome: 'accepted', reason: null })
    if (migration !== undefined) {
      await insertMigration(tx, migration)
      rows.push({ kind: 'migration', view: migration })
    }
    queueFeedRow(tx, rows)
    return true
  })
  if (!isWritten) return undefined
  feedChanged()
  if (move.isAwaited) throw new Failure('invalid', reason)
  return to
}

/** Nova makes the record of a cold migration on the host that is to take it, so there is none without a host. */
function recordOf(move: Move, instance: Instance, at: number): MigrationView | undefined {
  if (move.name === 'migrate') return undefined
  const { id, placed } = instance
  return {
    id: move.migrationId,
    serverId: id,
    version: 1,
    type: move.name === 'evacuate' ? 'evacuation' : 'live-migration',
    status: 'error',
    sourceHost: placed?.host ?? null,
    sourceNode: placed?.hypervisorHostname ?? null,
    destHost: move.host,
    destNode: null,
    oldFlavorId: move.build.flavor.id,
    newFlavorId: move.build.flavor.id,
    userId: move.userId,
    projectId: move.projectId ?? instance.projectId,
    createdAt: at,
    updatedAt: at,
  }
}
