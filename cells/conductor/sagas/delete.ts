import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { type HostId, newId } from '#common/ids.ts'
import {
  FastPathFailed,
  type LocalStep,
  type RemoteStep,
  type Saga,
  type StepCall,
} from '#common/saga/saga.ts'
import type { OperationRef } from '#openapi/wire/instance.ts'
import type { MigrationView } from '#openapi/wire/migration.ts'
import { queueFeedRow } from '../../db/feed.ts'
import {
  findInstance,
  queueRemoval,
  queueTakeForDelete,
  removeOwnInstance,
  updateOwnInstance,
} from '../../db/instances.ts'
import { queueAttemptEnd } from '../../db/operations.ts'
import { newestMigration } from '../../db/server-migrations.ts'
import { type Held, heldByServer, queueRelease, release } from '../../placement/release.ts'
import { endedEvent, failedAction, queueActionEnd } from '../action-event.ts'
import type { Conductor } from '../conductor.ts'
import { destroyOnHost } from '../destroy-on-host.ts'
import { endMigration, OPEN_MIGRATIONS } from '../end-migration.ts'
import type { Instance } from '../instance.ts'

export interface DeleteParams {
  readonly operation: OperationRef
  /** As it was when the delete was decided on. */
  readonly instance: Instance
  /** Milliseconds since the epoch. */
  readonly startedAt: number
}

type DeleteCall = StepCall<Conductor, DeleteParams>

/** The instance once the delete has it. */
export function deleting({ instance }: DeleteParams, sagaId: Instance['sagaId']): Instance {
  return { ...instance, version: instance.version + 1, taskState: 'deleting', sagaId }
}

/** Takes the instance from the saga that was changing it; throws `conflict` when it has changed since it was read. */
const take: LocalStep<Conductor, DeleteParams> = {
  kind: 'local',
  name: 'take',
  run: async (tx, { params, sagaId }) => {
    const { instance } = params
    queueTakeForDelete(tx, instance, sagaId, () => {
      return new Failure('conflict', `Instance ${instance.id} has just changed.`)
    })
    return null
  },
  // A delete is never taken back.
  undo: 'none',
}

/** The resources it held once no other saga could change them; null: a move of the instance was not over. */
type Destroyed = { readonly held: readonly Held[] | null }

const destroy: RemoteStep<Conductor, DeleteParams> = {
  kind: 'remote',
  name: 'destroy',
  run: async (call, signal): Promise<Destroyed> => {
    const { deps, params, work } = call
    const { instance } = params
    const { held, mayHaveMoved } = await heldByServer(deps.db, instance.id)
    const migration = mayHaveMoved ? await openMigration(deps, instance) : undefined
    for (const host of hostsOf(deps, instance, migration)) {
      const operation = { ...params.operation, id: newId() }
      const startedAt = deps.clock.now()
      const refused = (reason: string) => reportRefused(call, reason, startedAt)
      await destroyOnHost(deps, { host, operation, work, signal, refused })
    }
    return { held: migration === undefined ? held : null }
  },
  forwardOnly: true,
  undo: 'none',
}

/**
 * Afterwards the instance is in ERROR with this reason, as in Nova, and gateways have one report of it, however often the
 * host repeats the reason. The delete continues.
 */
async function reportRefused(
  { deps, params, work, sagaId }: DeleteCall,
  reason: string,
  startedAt: number,
): Promise<void> {
  const at = deps.clock.now()
  const fault = failedAction('delete', reason, at)
  await deps.db.transaction(async (tx) => {
    const now = await findInstance(tx, params.instance.id)
    if (now === undefined) return
    if (now.fault?.message === fault.message && now.fault.details === reason) return
    const to: Instance = { ...now, version: now.version + 1, vmState: 'error', fault }
    if (!(await updateOwnInstance(tx, sagaId, { to }))) return
    queueActionEnd(tx, deps, to, {
      work,
      event: 'delete',
      startedAt,
      finishedAt: at,
      host: now.placed?.host ?? null,
      failure: reason,
    })
  })
}

/** The hosts that may have something of the instance: its host, and the other one of a move that is not over. */
function hostsOf(
  { hosts }: Conductor,
  { placed }: Instance,
  migration: MigrationView | undefined,
): ReadonlySet<HostId> {
  const names = migration === undefined ? [] : [migration.sourceHost, migration.destHost]
  const others = hosts.all().filter(({ name }) => names.includes(name))
  return new Set([...(placed === null ? [] : [placed.hostId]), ...others.map((host) => host.id)])
}

async function openMigration(
  { db }: Conductor,
  { id }: Instance,
): Promise<MigrationView | undefined> {
  const migration = await newestMigration(db, id)
  return migration !== undefined && OPEN_MIGRATIONS.includes(migration.status)
    ? migration
    : undefined
}

const forget: LocalStep<Conductor, DeleteParams> = {
  kind: 'local',
  name: 'forget',
  run: leaveNothing,
  fastPath: leaveNothingKnown,
  forwardOnly: true,
  undo: 'none',
}

async function leaveNothing(tx: Tx, call: DeleteCall): Promise<null> {
  const { deps, params, sagaId } = call
  const { instance } = params
  if (!(await removeOwnInstance(tx, sagaId, instance))) return null
  await release(tx, instance.id)
  await endMigration(deps, tx, instance.id, 'confirmed')
  return queueDeleted(tx, call)
}

/** The allocations are read after the instance was taken. */
function leaveNothingKnown(tx: Tx, call: DeleteCall): null {
  const { instance } = call.params
  const held = call.output<Destroyed>('destroy')?.held ?? []
  if (held.length === 0) throw new FastPathFailed()
  const failed = () => new FastPathFailed()
  queueRemoval(tx, call.sagaId, instance, failed)
  queueRelease(tx, instance.id, held, failed)
  return queueDeleted(tx, call)
}

function queueDeleted(tx: Tx, { deps, params, work }: DeleteCall): null {
  const { operation, instance, startedAt } = params
  queueAttemptEnd(tx, instance, 'deleted', null)
  const at = deps.clock.now()
  const event = endedEvent({
    serverId: instance.id,
    work,
    event: 'delete',
    startedAt,
    finishedAt: at,
    host: instance.placed?.host ?? null,
  })
  queueFeedRow(tx, [
    { kind: 'deleted', serverId: instance.id, attempt: operation.attempt, at },
    { kind: 'action-event', event },
  ])
  tx.afterCommit(deps.feedChanged)
  return null
}

/** Destroys a server wherever it is in its life. From its first commit on it only goes forward. */
export const deleteSaga: Saga<Conductor, DeleteParams> = {
  name: 'delete',
  version: 1,
  steps: [take, destroy, forget],
}
