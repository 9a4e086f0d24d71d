import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { type HostId, newId } from '#common/ids.ts'
import type { LocalStep, RemoteStep, Saga, StepCall } from '#common/saga/saga.ts'
import type { OperationRef } from '#openapi/wire/instance.ts'
import { addToFeed } from '../../db/feed.ts'
import { removeOwnInstance, updateSeenInstance } from '../../db/instances.ts'
import { endAttempt } from '../../db/operations.ts'
import { newestMigration } from '../../db/server-migrations.ts'
import { release } from '../../placement/release.ts'
import { endedEvent } from '../action-event.ts'
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

/** Takes the instance from whoever was changing it; throws `conflict` when it has changed since it was read. */
const take: LocalStep<Conductor, DeleteParams> = {
  kind: 'local',
  name: 'take',
  run: async (tx, { params, sagaId }) => {
    const change = { to: deleting(params, sagaId) }
    if (await updateSeenInstance(tx, params.instance, change)) return null
    throw new Failure('conflict', `Instance ${params.instance.id} has just changed.`)
  },
  // A delete is never taken back.
  undo: 'none',
}

const destroy: RemoteStep<Conductor, DeleteParams> = {
  kind: 'remote',
  name: 'destroy',
  run: async ({ deps, params, work }, signal) => {
    for (const host of await hostsOf(deps, params.instance)) {
      const operation = { ...params.operation, id: newId() }
      await destroyOnHost(deps, { host, operation, work, signal })
    }
    return null
  },
  forwardOnly: true,
  undo: 'none',
}

/** Where something of it may be: on its host, and on the other one of a move that is not over. */
async function hostsOf(
  { db, hosts }: Conductor,
  { id, placed }: Instance,
): Promise<ReadonlySet<HostId>> {
  const migration = await newestMigration(db, id)
  const isOpen = migration !== undefined && OPEN_MIGRATIONS.includes(migration.status)
  const names = isOpen ? [migration.sourceHost, migration.destHost] : []
  const others = hosts.all().filter(({ name }) => names.includes(name))
  return new Set([...(placed === null ? [] : [placed.hostId]), ...others.map((host) => host.id)])
}

const forget: LocalStep<Conductor, DeleteParams> = {
  kind: 'local',
  name: 'forget',
  run: leaveNothing,
  forwardOnly: true,
  undo: 'none',
}

async function leaveNothing(tx: Tx, { deps, params, sagaId, work }: DeleteCall): Promise<null> {
  const { operation, instance, startedAt } = params
  if (!(await removeOwnInstance(tx, sagaId, instance))) return null
  await release(tx, instance.id)
  await endMigration(deps, tx, instance.id, 'confirmed')
  endAttempt(tx, instance, 'deleted', null)
  const at = deps.clock.now()
  const event = endedEvent({
    serverId: instance.id,
    requestId: work.requestId,
    event: 'delete',
    startedAt,
    finishedAt: at,
    host: instance.placed?.host ?? null,
  })
  addToFeed(tx, [
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
