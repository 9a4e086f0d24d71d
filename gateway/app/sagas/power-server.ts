import { Failure } from '#common/errors.ts'
import type { CellId, InstanceId } from '#common/ids.ts'
import type { LocalStep, RemoteStep, Saga } from '#common/saga/saga.ts'
import type { CellAnswer } from '#openapi/wire/cell.ts'
import type { PowerAction } from '#openapi/wire/host.ts'
import { findMapping, releaseServer, takeServer } from '../../db/instance-mappings.ts'
import { recordActions } from '../../db/server-actions.ts'
import { applyViews } from '../../db/server-index.ts'
import type { ComputeDeps } from '../compute.ts'

export type PowerServerParams = {
  readonly serverId: InstanceId
  readonly cellId: CellId
  readonly attempt: number
  readonly operationId: string
  readonly action: PowerAction
  /** Nova's name of the action, as `server event list` shows it. */
  readonly actionName: string
  readonly userId: string
  readonly projectId: string
}

const take: LocalStep<ComputeDeps, PowerServerParams> = {
  kind: 'local',
  name: 'take',
  run: async (tx, { params, sagaId, work }) => {
    const { serverId, attempt, actionName: action, userId, projectId } = params
    if (!(await takeServer(tx, serverId, attempt, sagaId)))
      throw new Failure('conflict', `Instance ${serverId} is being changed by another request.`)
    const { requestId } = work
    recordActions(tx, [{ serverId, requestId, action, userId, projectId, message: null }])
    return null
  },
  undo: async (tx, { params, sagaId, work }) => {
    const { serverId, actionName: action, userId, projectId } = params
    releaseServer(tx, serverId, sagaId)
    const { requestId } = work
    recordActions(tx, [{ serverId, requestId, action, userId, projectId, message: 'Error' }])
  },
}

const ask: RemoteStep<ComputeDeps, PowerServerParams> = {
  kind: 'remote',
  name: 'ask',
  run: async ({ deps, params, work }) => {
    const { serverId, cellId, attempt, operationId, action } = params
    const cell = deps.cells.cell(cellId) ?? { id: cellId, name: cellId }
    const operation = { id: operationId, serverId, attempt }
    try {
      return await deps.askCell(cell, 'instance.power', { operation, action }, { work })
    } catch (error) {
      // A delete beats whatever was asked before it, and the cell need not be waited for.
      const mapping = await findMapping(deps.db, serverId)
      if (mapping === undefined || mapping.isDeleting || mapping.attempt !== attempt)
        throw new Failure('conflict', `Instance ${serverId} is being deleted.`, { cause: error })
      throw error
    }
  },
  // A failure other than silence means that the cell did nothing.
  undo: 'none',
}

const settle: LocalStep<ComputeDeps, PowerServerParams> = {
  kind: 'local',
  name: 'settle',
  run: async (tx, call) => {
    const { params, sagaId } = call
    const { view } = call.output<CellAnswer<'instance.power'>>('ask')!
    applyViews(tx, params.cellId, [view])
    releaseServer(tx, params.serverId, sagaId)
    return null
  },
  forwardOnly: true,
  // The view is the cell's truth; releasing is done by `take` too.
  undo: 'none',
}

/** Has a server's cell change its power state; done when the cell has accepted, and its feed tells the rest. */
export const powerServerSaga: Saga<ComputeDeps, PowerServerParams> = {
  name: 'power-server',
  version: 1,
  steps: [take, ask, settle],
}
