import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import {
  FastPathFailed,
  type LocalStep,
  type RemoteStep,
  type Saga,
  type StepCall,
} from '#common/saga/saga.ts'
import type { DeleteAnswer } from '#openapi/wire/cell.ts'
import {
  findMapping,
  lockMapping,
  queueMappingDeleting,
  queueMarkDeleting,
} from '../../db/instance-mappings.ts'
import { queueActions } from '../../db/server-actions.ts'
import { queueIndexedDeleting } from '../../db/server-index.ts'
import type { ComputeDeps } from '../compute.ts'
import { recordDeleted } from '../servers/acts/record-deleted.ts'
import type { Target } from './next-cell.ts'

export type DeleteServerParams = {
  readonly serverId: InstanceId
  readonly operationId: string
  /** The user who sent the request; null for an earlier delete that is repeated. */
  readonly requester: { readonly userId: string; readonly projectId: string } | null
  /** Where it was shown to be when it was asked for; absent: not looked. */
  readonly seen?: Target
  /** The host it was shown on then; absent: on none, or not looked. */
  readonly hostId?: string
}

type Call = StepCall<ComputeDeps, DeleteServerParams>

/** `target`: the cell that has the server; null: no cell has, and it is gone already. */
type Marked = { readonly target: Target | null }

const mark: LocalStep<ComputeDeps, DeleteServerParams> = {
  kind: 'local',
  name: 'mark',
  run: async (tx, call): Promise<Marked> => {
    const { deps, params, sagaId } = call
    const { serverId } = params
    const mapping = await lockMapping(tx, serverId)
    if (mapping === undefined)
      throw new Failure('not-found', `Instance ${serverId} could not be found.`)
    queueMarkDeleting(tx, serverId, sagaId)
    showDeleting(tx, call)
    const { cellId, attempt } = mapping
    if (cellId !== null) return { target: { cellId, attempt } }
    await recordDeleted(tx, deps, null, [{ serverId, attempt }])
    return { target: null }
  },
  // Mostly it is still where it was shown.
  fastPath: (tx, call): Marked => {
    const { serverId, seen } = call.params
    if (seen === undefined) throw new FastPathFailed()
    queueMappingDeleting(tx, { serverId, sagaId: call.sagaId, ...seen }, () => new FastPathFailed())
    showDeleting(tx, call)
    return { target: seen }
  },
  // A delete is never taken back: reconcilers go on with servers that are marked.
  undo: 'none',
}

function showDeleting(tx: Tx, { params, work }: Call): void {
  const { serverId, requester } = params
  queueIndexedDeleting(tx, serverId)
  if (requester === null) return
  const action = { serverId, requestId: work.requestId, action: 'delete', message: null }
  queueActions(tx, [{ ...action, ...requester }])
}

function targetOf(call: Call): Target | undefined {
  return call.output<Marked>('mark')?.target ?? undefined
}

const ask: RemoteStep<ComputeDeps, DeleteServerParams> = {
  kind: 'remote',
  name: 'ask',
  when: (call) => targetOf(call) !== undefined,
  forwardOnly: true,
  run: async (call): Promise<DeleteAnswer> => {
    const { deps, params, work } = call
    const { cellId, attempt } = targetOf(call)!
    const cell = deps.cells.cell(cellId)
    if (cell?.isLost === true && (await isTakenFrom(call))) return { outcome: 'deleted' }
    // Asking an unreachable cell would only wait for the deadline.
    if (cell !== undefined && !cell.isReachable)
      throw new Failure('unavailable', `Cell ${cell.name} sends no heartbeats.`)
    const { operationId: id, serverId, hostId } = params
    const operation = { id, serverId, attempt }
    return deps.askCell(
      cell ?? { id: cellId, name: cellId },
      'instance.delete',
      { operation, ...(hostId !== undefined && { hostId }) },
      { work },
    )
  },
  // Nothing is left to undo of a server that is not to be.
  undo: 'none',
}

/** Nothing that a lost cell has of a server counts once the server was taken from it. */
async function isTakenFrom(call: Call): Promise<boolean> {
  const mapping = await findMapping(call.deps.db, call.params.serverId)
  return mapping?.attempt !== targetOf(call)!.attempt
}

const settle: LocalStep<ComputeDeps, DeleteServerParams> = {
  kind: 'local',
  name: 'settle',
  when: (call) => call.output('ask') !== undefined,
  forwardOnly: true,
  run: async (tx, call) => {
    const { deps, params } = call
    const { cellId, attempt } = targetOf(call)!
    if (call.output<DeleteAnswer>('ask')!.outcome === 'deleted')
      await recordDeleted(tx, deps, cellId, [{ serverId: params.serverId, attempt }])
    return null
  },
  // As for `mark`.
  undo: 'none',
}

/**
 * Deletes a server in any state, wherever it is. Done when the cell has committed 'deleted', or has begun: then its
 * feed reports the end, which removes the mapping, and a reconciler repeats the request if the report was lost. Until
 * then the server's row is not changed: it is already shown as being deleted.
 */
export const deleteServerSaga: Saga<ComputeDeps, DeleteServerParams> = {
  name: 'delete-server',
  version: 1,
  steps: [mark, ask, settle],
}
