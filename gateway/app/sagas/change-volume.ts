import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { AttachmentId, CellId, InstanceId, VolumeId } from '#common/ids.ts'
import type { LocalStep, RemoteStep, Saga, StepCall } from '#common/saga/saga.ts'
import { findMapping, queueServerRelease, takeServer } from '../../db/instance-mappings.ts'
import { queueActionEnd, queueActions } from '../../db/server-actions.ts'
import {
  removeAttachment,
  showServerVolumes,
  updateAttachment,
} from '../../db/volume-attachments.ts'
import { lockVolume } from '../../db/volumes.ts'
import type { ComputeDeps } from '../compute.ts'
import { beginAttachment, showAttached } from '../volumes/hold-volume.ts'

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
  /** Of the request: who sent it, with a token of which project. */
  readonly userId: string
  readonly projectId: string
}

type Call = StepCall<ComputeDeps, ChangeVolumeParams>
/** The volume as the cell knows it. */
type Taken = {
  readonly volumeAttempt: number
  readonly isShared: boolean
  /** Absent from sagas of a former release. */
  readonly isReadOnly?: boolean
}
type Asked = { readonly device: string | null }

const take: LocalStep<ComputeDeps, ChangeVolumeParams> = {
  kind: 'local',
  name: 'take',
  run: async (tx, { params, sagaId, work }): Promise<Taken> => {
    const { serverId, attempt, cellId, action, attachmentId, volumeId } = params
    if (!(await takeServer(tx, serverId, attempt, sagaId)))
      throw new Failure('conflict', `Instance ${serverId} is being changed by another request.`)
    const volume = await lockVolume(tx, volumeId)
    if (volume === undefined)
      throw new Failure('not-found', `Volume ${volumeId} could not be found.`)
    const wanted = { ...params, isRoot: false, device: null }
    if (action === 'attach_volume') await beginAttachment(tx, volume, wanted, cellId)
    else if (!(await updateAttachment(tx, attachmentId, { state: 'detaching' })))
      throw new Failure('not-found', `Volume ${volumeId} is not attached to ${serverId}.`)
    await showAttached(tx, volume)
    queueActions(tx, [actionOf(params, work.requestId, null)])
    const { attempt: volumeAttempt, isMultiattach: isShared, isReadOnly } = volume
    return { volumeAttempt, isShared, isReadOnly: isReadOnly === true }
  },
  undo: async (tx, call) => {
    const { params, sagaId, work } = call
    const { action, attachmentId } = params
    if (action === 'attach_volume') await removeAttachment(tx, attachmentId)
    else await updateAttachment(tx, attachmentId, { state: 'attached' })
    await show(tx, params)
    queueServerRelease(tx, params.serverId, sagaId)
    queueActions(tx, [actionOf(params, work.requestId, 'Error')])
    queueActionEnd(tx, { ...actionOf(params, work.requestId, 'Error'), result: 'error' })
  },
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
    const { action, attachmentId, serverId } = params
    const { device } = output<Asked>('ask')!
    if (action === 'attach_volume')
      await updateAttachment(tx, attachmentId, { state: 'attached', device })
    else await removeAttachment(tx, attachmentId)
    await show(tx, params)
    queueServerRelease(tx, serverId, sagaId)
    queueActionEnd(tx, { ...actionOf(params, work.requestId, null), result: 'success' })
    return null
  },
  forwardOnly: true,
  undo: 'none',
}

/** Afterwards the volume and the server show the attachments that there are now. */
async function show(tx: Tx, { volumeId, serverId }: ChangeVolumeParams): Promise<void> {
  const volume = await lockVolume(tx, volumeId)
  if (volume !== undefined) await showAttached(tx, volume)
  await showServerVolumes(tx, serverId)
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
