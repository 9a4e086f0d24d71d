import { Failure } from '#common/errors.ts'
import type { CellId, InstanceId } from '#common/ids.ts'
import type { LocalStep, RemoteStep, Saga, StepCall } from '#common/saga/saga.ts'
import { recordedName } from '#common/states/server-actions.ts'
import { findMapping, queueServerRelease, takeServer } from '../../db/instance-mappings.ts'
import { queueActionEnd, queueActions } from '../../db/server-actions.ts'
import type { ComputeDeps } from '../compute.ts'
import type { Nic } from '../servers/boot/server-network.ts'

export type ChangeNicParams = {
  readonly serverId: InstanceId
  readonly cellId: CellId
  readonly attempt: number
  readonly operationId: string
  readonly action: 'attach-interface' | 'detach-interface'
  readonly portId: string
  /** Of the request: who sent it, with a token of which project. */
  readonly userId: string
  readonly projectId: string
}

type Call = StepCall<ComputeDeps, ChangeNicParams>

const take: LocalStep<ComputeDeps, ChangeNicParams> = {
  kind: 'local',
  name: 'take',
  run: async (tx, { deps, params, sagaId, work }): Promise<Nic> => {
    const { serverId, attempt, portId } = params
    if (!(await takeServer(tx, serverId, attempt, sagaId)))
      throw new Failure('conflict', `Instance ${serverId} is being changed by another request.`)
    const nic = await deps.network.nicOf(tx, serverId, portId)
    if (nic === undefined)
      throw new Failure('not-found', `Instance ${serverId} does not have a port with id ${portId}`)
    queueActions(tx, [actionOf(params, work.requestId, null)])
    return nic
  },
  undo: async (tx, { deps, params, sagaId, work }) => {
    const { serverId, action, portId } = params
    if (action === 'attach-interface') await deps.network.releaseNic(tx, serverId, portId)
    queueServerRelease(tx, serverId, sagaId)
    const failed = actionOf(params, work.requestId, 'Error')
    queueActions(tx, [failed])
    queueActionEnd(tx, { ...failed, result: 'error' })
  },
}

const ask: RemoteStep<ComputeDeps, ChangeNicParams> = {
  kind: 'remote',
  name: 'ask',
  run: async (call) => {
    const { deps, params, work } = call
    const { serverId, cellId, attempt, operationId } = params
    const cell = deps.cells.cell(cellId) ?? { id: cellId, name: cellId }
    const operation = { id: operationId, serverId, attempt }
    try {
      await deps.askCell(cell, 'instance.change-nic', { operation, ...changeOf(call) }, { work })
      return null
    } catch (error) {
      // A delete supersedes every earlier request, and need not wait for the cell.
      const mapping = await findMapping(deps.db, serverId)
      if (mapping === undefined || mapping.isDeleting || mapping.attempt !== attempt)
        throw new Failure('conflict', `Instance ${serverId} is being deleted.`, { cause: error })
      throw error
    }
  },
  // A failure other than silence means that the host did nothing.
  undo: 'none',
}

const settle: LocalStep<ComputeDeps, ChangeNicParams> = {
  kind: 'local',
  name: 'settle',
  run: async (tx, { deps, params, sagaId, work }) => {
    const { serverId, action, portId } = params
    if (action === 'detach-interface') await deps.network.releaseNic(tx, serverId, portId)
    // The cell tells of no NIC by itself: its next view may be far away.
    else await deps.network.bindNic(tx, serverId, portId)
    queueServerRelease(tx, serverId, sagaId)
    queueActionEnd(tx, { ...actionOf(params, work.requestId, null), result: 'success' })
    return null
  },
  forwardOnly: true,
  undo: 'none',
}

function changeOf({ params, output }: Call): { attach: Nic } | { detach: Nic } {
  const nic = output<Nic>('take')!
  return params.action === 'attach-interface' ? { attach: nic } : { detach: nic }
}

function actionOf(params: ChangeNicParams, requestId: string, message: string | null) {
  const { serverId, userId, projectId } = params
  // Both are recorded by their own names.
  return { serverId, requestId, action: recordedName(params.action)!, userId, projectId, message }
}

/**
 * Gives a server a NIC on a port that it was just given, or takes one away with its port. An attached port is the
 * server's from the first commit on, and goes back when the host cannot plug it in.
 */
export const changeNicSaga: Saga<ComputeDeps, ChangeNicParams> = {
  name: 'change-nic',
  version: 1,
  steps: [take, ask, settle],
}
