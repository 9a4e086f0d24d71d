import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { AttachmentId, CellId, InstanceId, VolumeId } from '#common/ids.ts'
import type { LocalStep, RemoteStep, Saga, StepCall } from '#common/saga/saga.ts'
import { queueHeldStatus, queueHold, queueVolumeLock } from '../../db/held-volumes.ts'
import { findMapping, queueServerRelease, queueTakeServer } from '../../db/instance-mappings.ts'
import { queueActionEnd, queueActions } from '../../db/server-actions.ts'
import { StaleRevision } from '../../db/stale-revision.ts'
import {
  queueAttached,
  queueAttachment,
  queueDetaching,
  queueRemoveAttachment,
  queueServerVolumes,
} from '../../db/volume-attachments.ts'
import type { ComputeDeps } from '../compute.ts'

export type ChangeVolumeParams = {
  readonly serverId: InstanceId
  readonly cellId: CellId
  readonly attempt: number
  readonly operationId: string
  readonly action: 'attach_volume' | 'detach_volume'
  readonly volumeId: VolumeId
  readonly attachmentId: AttachmentId
  readonly tag: string | null
  readonly deletesVolume: boolean
  /** How the volume was read that is to be attached; else null. Absent from sagas of a former release, whose first step is done. */
  readonly volume: Taken | null
  /** Of the request: who sent it, with a token of which project. */
  readonly userId: string
  readonly projectId: string
}

type Call = StepCall<ComputeDeps, ChangeVolumeParams>
/** The volume as the cell is told of it. */
type Taken = {
  readonly volumeAttempt: number
  readonly isShared: boolean
  /** Absent from sagas of a former release. */
  readonly isReadOnly?: boolean
}
type Asked = { readonly device: string | null }

/** Nothing is read, so that transactions which come together commit together. */
const take: LocalStep<ComputeDeps, ChangeVolumeParams> = {
  kind: 'local',
  name: 'take',
  run: async (tx, { params, sagaId, work }): Promise<Taken | null> => {
    const { serverId, attempt, attachmentId, volumeId, volume } = params
    const isTaken = () =>
      new Failure('conflict', `Instance ${serverId} is being changed by another request.`)
    queueTakeServer(tx, { serverId, attempt, sagaId }, isTaken)
    if (volume !== null) hold(tx, params, volume)
    else {
      queueVolumeLock(tx, volumeId)
      const held = { id: attachmentId, volumeId }
      queueDetaching(tx, held, () => new StaleRevision(`Volume ${volumeId}`))
      queueHeldStatus(tx, volumeId)
    }
    queueActions(tx, [actionOf(params, work.requestId, null)])
    return volume
  },
  undo: async (tx, call) => {
    const { params, sagaId, work } = call
    const { action, attachmentId, volumeId } = params
    queueVolumeLock(tx, volumeId)
    if (action === 'attach_volume') queueRemoveAttachment(tx, attachmentId)
    else queueAttached(tx, attachmentId)
    show(tx, params)
    queueServerRelease(tx, params.serverId, sagaId)
    queueActions(tx, [actionOf(params, work.requestId, 'Error')])
    queueActionEnd(tx, { ...actionOf(params, work.requestId, 'Error'), result: 'error' })
  },
}

/** The volume is held for the server, if it still is as it was read; else the transaction fails with `StaleRevision`. */
function hold(
  tx: Tx,
  { serverId, cellId, attachmentId: id, volumeId, tag, deletesVolume }: ChangeVolumeParams,
  { volumeAttempt: attempt, isShared: isMultiattach, isReadOnly = false }: Taken,
): void {
  const isStale = () => new StaleRevision(`Volume ${volumeId}`)
  queueHold(tx, { id: volumeId, cellId, attempt, isMultiattach, isReadOnly }, isStale)
  const wanted = { id, volumeId, serverId, tag, deletesVolume, isRoot: false, device: null }
  queueAttachment(tx, wanted, isStale)
}

const ask: RemoteStep<ComputeDeps, ChangeVolumeParams> = {
  kind: 'remote',
  name: 'ask',
  run: async (call): Promise<Asked> => {
    const { deps, params, work } = call
    const { serverId, cellId, attempt, operationId } = params
    const cell = deps.cells.cell(cellId) ?? { id: cellId, name: cellId }
    const operation = { id: operationId, serverId, attempt }
    const change = changeOf(call)
    try {
      return await deps.askCell(cell, 'instance.change-volume', { operation, ...change }, { work })
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

function changeOf({ params, output }: Call) {
  const { action, attachmentId, volumeId, tag } = params
  if (action === 'detach_volume') return { detach: attachmentId }
  const { volumeAttempt, isShared, isReadOnly = false } = output<Taken>('take')!
  const how = { volumeAttempt, isShared, isReadOnly, ...(tag !== null && { tag }) }
  return { attach: { id: attachmentId, volumeId, ...how } }
}

const settle: LocalStep<ComputeDeps, ChangeVolumeParams> = {
  kind: 'local',
  name: 'settle',
  run: async (tx, { params, sagaId, work, output }) => {
    const { action, attachmentId, serverId, volumeId } = params
    const { device } = output<Asked>('ask')!
    queueVolumeLock(tx, volumeId)
    if (action === 'attach_volume') queueAttached(tx, attachmentId, device)
    else queueRemoveAttachment(tx, attachmentId)
    show(tx, params)
    queueServerRelease(tx, serverId, sagaId)
    queueActionEnd(tx, { ...actionOf(params, work.requestId, null), result: 'success' })
    return null
  },
  forwardOnly: true,
  undo: 'none',
}

/** Afterwards the locked volume and the server show the attachments that there are now. */
function show(tx: Tx, { volumeId, serverId }: ChangeVolumeParams): void {
  queueHeldStatus(tx, volumeId)
  queueServerVolumes(tx, serverId)
}

function actionOf(params: ChangeVolumeParams, requestId: string, message: string | null) {
  const { serverId, userId, projectId, action, volumeId } = params
  return { serverId, requestId, action, userId, projectId, message, volumeId }
}

/**
 * Gives a server a volume, or takes it away. The volume is held for the server from the first commit on, and is free
 * again when the host cannot attach it. A delete of the server ends its attachments, whatever this has come to.
 */
export const changeVolumeSaga: Saga<ComputeDeps, ChangeVolumeParams> = {
  name: 'change-volume',
  version: 1,
  steps: [take, ask, settle],
}
