import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { CellId, InstanceId, VolumeId } from '#common/ids.ts'
import type { LocalStep, RemoteStep, Saga, StepCall } from '#common/saga/saga.ts'
import type { VolumeCreateAnswer, VolumeView } from '#openapi/wire/cell-volume.ts'
import type { Trace } from '#openapi/wire/trace.ts'
import { findImage } from '../../db/images.ts'
import { queueTraces } from '../../db/traces.ts'
import { attachmentsOfVolumes } from '../../db/volume-attachments.ts'
import {
  beginVolumeMove,
  endVolumeMove,
  isMoveCancelled,
  leaveCell,
  leaveContent,
} from '../../db/volume-moves.ts'
import { snapshotsOfVolume } from '../../db/volume-snapshots.ts'
import { findVolume, lockVolume, writeLockedVolume } from '../../db/volumes.ts'
import type { ComputeDeps } from '../compute.ts'
import type { SnapshotOrder } from '../servers/boot/server-images.ts'
import { applyVolumeView } from '../volumes/apply-view.ts'
import { refuseCarrierAtWork } from '../volumes/carried.ts'
import { refuseUnmovable } from '../volumes/movable.ts'
import type { StoredSource, Volume } from '../volumes/volume.ts'
import { askCreate } from './create-volume.ts'
import { type MoveOutcome, untilMoved } from './move-volume-wait.ts'
import type { Target } from './next-cell.ts'

export type MoveVolumeParams = {
  readonly volumeId: VolumeId
  readonly fromCellId: CellId
  readonly toCellId: CellId
  readonly reason: string | null
  readonly userId: string
  /** The image in which the content goes. */
  readonly order: SnapshotOrder
  /** The server that takes it along, offloaded or in no cell; absent: no server uses it. */
  readonly carrierId?: InstanceId
  /** The name of the host that is to reach its store; absent: any. */
  readonly host?: string
  /** Of the wire's requests. */
  readonly uploadId: string
  readonly createId: string
}

export type MoveCall = StepCall<ComputeDeps, MoveVolumeParams>
/** The operation, where the volume is, and where it is to be. */
export type Marked = { readonly operationId: string; readonly from: Target; readonly to: Target }
type Assigned = MoveOutcome<{ readonly source: Extract<StoredSource, { kind: 'image' }> }>
/** `sealedKey`: of an encrypted volume, which the other cell alone can open. */
type Saved = MoveOutcome<{ readonly sealedKey?: string }>
type Content = { readonly view: VolumeView; readonly trace: Trace | null }
type Made = MoveOutcome<Content>

/** Throws `conflict` when the volume cannot be moved any more, and `over-quota` for images. */
const mark: LocalStep<ComputeDeps, MoveVolumeParams> = {
  kind: 'local',
  name: 'mark',
  run: async (tx, { deps, params, sagaId, work }): Promise<Marked> => {
    const { volumeId, fromCellId, toCellId, order, reason, userId, carrierId = null } = params
    // First, so that a request which starts it waits, or has come before.
    if (carrierId !== null) await refuseCarrierAtWork(tx, carrierId)
    const volume = await lockVolume(tx, volumeId)
    if (volume === undefined)
      throw new Failure('not-found', `Volume ${volumeId} could not be found.`)
    const attachments = await attachmentsOfVolumes(tx, [volumeId])
    const snapshots = await snapshotsOfVolume(tx, volumeId)
    refuseUnmovable(volume, { attachments, snapshots: snapshots.length }, carrierId)
    if (volume.cellId !== fromCellId)
      throw new Failure('conflict', `Volume ${volumeId} has just changed cells.`)
    const attempt = Math.max(volume.attempt, volume.lastAttempt) + 1
    const operationId = await beginVolumeMove(tx, {
      ...{ subjectId: volumeId, subject: volume.name ?? volumeId, cellId: fromCellId },
      ...{ toCellId, attempt, reason, userId, requestId: work.requestId },
    })
    if (operationId === undefined)
      throw new Failure('conflict', `Volume ${volumeId} is being moved already.`)
    await deps.images.reserve(tx, order)
    const change = { status: 'maintenance', lastAttempt: attempt, sagaId } as const
    await writeLockedVolume(tx, volumeId, change, { isIntent: true })
    const from = { cellId: fromCellId, attempt: volume.attempt }
    return { operationId, from, to: { cellId: toCellId, attempt } }
  },
  undo: (tx, call) => giveUp(tx, call, UNEXPECTED),
}

const UNEXPECTED = 'The move ended unexpectedly.'

/** The end of the saving of its content, which the cell tells a repeat of the request. */
function askUpload(call: MoveCall, signal: AbortSignal): Promise<Saved> {
  const { deps, params, work } = call
  const { uploadId, volumeId, order } = params
  const { from, to } = call.output<Marked>('mark')!
  return untilMoved(call, from.cellId, {
    message: 'Its content is being saved.',
    signal,
    // An upload ends at once where its image is gone, and the volume is free only then.
    onCancel: () => deps.db.transaction((tx) => deps.images.withdraw(tx, order.imageId)),
    ask: async (cell) => {
      const operation = { id: uploadId, volumeId, attempt: from.attempt }
      const ticket = deps.images.fillTicket(order.imageId, from.cellId)
      const target = { imageId: order.imageId, ticket }
      const asked = {
        operation,
        target,
        diskFormat: 'qcow2',
        ...(await sealing(call, to)),
      } as const
      const { view, sealedKey } = await deps.askCell(cell, 'volume.upload', asked, { work })
      if (view.state === 'uploading') return undefined
      return view.fault === null
        ? { outcome: 'done', ...(sealedKey !== undefined && { sealedKey }) }
        : { outcome: 'failed', reason: `Its content was not saved: ${view.fault}` }
    },
  })
}

/** The public key of the new cell, with which the former cell seals the key of an encrypted volume: the gateway cannot open it. Empty for a plain volume. */
async function sealing({ deps, params, work }: MoveCall, to: Target) {
  const { volumeId, uploadId: id } = params
  const volume = await findVolume(deps.db, volumeId)
  if (volume === undefined || volume.encryption === null) return {}
  const { cellId, attempt } = to
  const cell = deps.cells.cell(cellId) ?? { id: cellId, name: cellId }
  const operation = { id, volumeId, attempt }
  const { publicKey } = await deps.askCell(cell, 'volume.box-key', { operation }, { work })
  return { sealFor: { publicKey, attempt } }
}

const save: RemoteStep<ComputeDeps, MoveVolumeParams> = {
  kind: 'remote',
  name: 'save',
  run: askUpload,
  undo: async (call, signal) => {
    const { deps, params } = call
    await deps.db.transaction((tx) => deps.images.withdraw(tx, params.order.imageId))
    await askUpload(call, signal)
  },
}

/** Afterwards the other cell may have been asked: what it has of the volume is deleted unless the volume becomes its own. */
const assign: LocalStep<ComputeDeps, MoveVolumeParams> = {
  kind: 'local',
  name: 'assign',
  when: (call) => call.output<Saved>('save')?.outcome === 'done',
  run: async (tx, { params }): Promise<Assigned> => {
    const image = await findImage(tx, params.order.imageId)
    if (image?.status !== 'active' || image.content === null || image.diskFormat === null)
      return { outcome: 'failed', reason: 'The image with its content is gone.' }
    const { id, name, content, diskFormat, minDiskGb, minRamMb, properties } = image
    const { sizeBytes, sha256 } = content
    const labels = { name: name ?? '', minDiskGb, minRamMb, properties }
    const source = {
      kind: 'image',
      image: { id, sizeBytes, sha256, diskFormat, ...labels },
    } as const
    return { outcome: 'done', source }
  },
  undo: async (tx, call) => {
    const marked = call.output<Marked>('mark')
    if (marked !== undefined) await leaveContent(tx, marked.operationId, marked.to)
  },
}

const create: RemoteStep<ComputeDeps, MoveVolumeParams> = {
  kind: 'remote',
  name: 'create',
  when: (call) => call.output<Assigned>('assign')?.outcome === 'done',
  run: (call, signal): Promise<Made> => {
    const { deps, params, work } = call
    const { to } = call.output<Marked>('mark')!
    const assigned = call.output<Assigned>('assign')!
    const saved = call.output<Saved>('save')!
    if (assigned.outcome !== 'done' || saved.outcome !== 'done')
      throw new Error('A move goes on that has failed')
    const { sealedKey } = saved
    // Only the first answer says how the cell chose a store.
    let trace: Trace | null = null
    return untilMoved<Content>(call, to.cellId, {
      message: 'The other cell makes it.',
      signal,
      ask: async ({ id: cellId }) => {
        const volume = await findVolume(deps.db, params.volumeId)
        if (volume === undefined) return { outcome: 'failed', reason: 'The volume was deleted.' }
        if (volume.encryption !== null && sealedKey === undefined)
          return { outcome: 'failed', reason: 'Its cell did not give its key.' }
        const operation = { id: params.createId, volumeId: volume.id, attempt: to.attempt }
        // Its zone is one of the cell that it leaves.
        const wanted = { ...volume, zone: null, source: assigned.source }
        const asked = { cellId, operation, volume: wanted, host: params.host, sealedKey }
        const answer = await askCreate(deps, asked, work)
        if ('trace' in answer) trace ??= answer.trace ?? null
        return madeOf(answer, trace)
      },
    })
  },
  // The undo of the step before has it deleted.
  undo: 'none',
}

/** What the answer to a repeated request says of the end of the work; undefined: the cell is at work. */
function madeOf(answer: VolumeCreateAnswer, trace: Trace | null): Made | undefined {
  if (answer.outcome === 'refused') return { outcome: 'failed', reason: answer.reason }
  if (answer.outcome === 'deleted')
    return { outcome: 'failed', reason: 'The other cell has deleted it meanwhile.' }
  const { view } = answer
  if (view.state === 'creating') return undefined
  if (view.state === 'available') return { outcome: 'done', view, trace }
  const fault = view.fault ?? `it is ${view.state}`
  return { outcome: 'failed', reason: `The other cell could not make it: ${fault}` }
}

/** The switch: afterwards the volume is the other cell's, or stays where it was, and the move has ended. */
const settle: LocalStep<ComputeDeps, MoveVolumeParams> = {
  kind: 'local',
  name: 'settle',
  forwardOnly: true,
  run: async (tx, call) => {
    const { operationId, from, to } = call.output<Marked>('mark')!
    const [saved, assigned] = [call.output<Saved>('save'), call.output<Assigned>('assign')]
    const made = call.output<Made>('create')
    const volume = await lockOwn(tx, call)
    const isReady = made?.outcome === 'done' && volume !== undefined
    if (isReady && (await leaveCell(tx, operationId, from))) {
      await changeCell(tx, volume, to, made)
      const { volumeId } = call.params
      const ended = { id: operationId, volumeId, cellId: from.cellId }
      await endVolumeMove(tx, ended, 'done', null)
      return null
    }
    if (assigned?.outcome === 'done') await leaveContent(tx, operationId, to)
    const failed = [made, assigned, saved].find((each) => each?.outcome === 'failed')
    await giveUp(tx, call, failed?.outcome === 'failed' ? failed.reason : TAKEN)
    return null
  },
  undo: 'none',
}

const TAKEN = 'The volume was changed meanwhile.'

async function changeCell(
  tx: Tx,
  volume: Volume,
  { cellId, attempt }: Target,
  { view, trace }: Extract<Made, { outcome: 'done' }>,
): Promise<void> {
  const change = { cellId, attempt, cellVersion: 0, triedCells: [], fault: null, sagaId: null }
  const moved = { ...change, status: await freeStatus(tx, volume) }
  await writeLockedVolume(tx, volume.id, moved, { isIntent: true })
  await applyVolumeView(tx, cellId, { ...volume, ...moved }, view)
  if (trace !== null) queueTraces(tx, [{ serverId: volume.id, attempt, trace }])
}

/** The status of a locked volume that no move holds: a server that takes it along has it all the while. */
async function freeStatus(tx: Tx, { id }: Volume): Promise<'available' | 'in-use'> {
  return (await attachmentsOfVolumes(tx, [id])).length > 0 ? 'in-use' : 'available'
}

/** The locked volume while it is held for this move: a delete may take it, and its cell may lose it. */
async function lockOwn(tx: Tx, { params, sagaId }: MoveCall): Promise<Volume | undefined> {
  const volume = await lockVolume(tx, params.volumeId)
  const isOwn = volume?.sagaId === sagaId && volume.status === 'maintenance' && !volume.isDeleting
  return isOwn ? volume : undefined
}

/** Afterwards the volume is free where it was, its image is gone, and the move has ended for this reason, or was cancelled. */
async function giveUp(tx: Tx, call: MoveCall, reason: string): Promise<void> {
  const { deps, params, sagaId } = call
  const marked = call.output<Marked>('mark')
  if (marked === undefined) return
  const { operationId: id, from } = marked
  const isCancelled = await isMoveCancelled(tx, id)
  const volume = await lockVolume(tx, params.volumeId)
  if (volume?.sagaId === sagaId) {
    const isFreed = volume.status === 'maintenance'
    const status = isFreed ? await freeStatus(tx, volume) : volume.status
    const change = { status, sagaId: null, ...(!isCancelled && { fault: reason }) }
    await writeLockedVolume(tx, volume.id, change, { isIntent: false })
  }
  await deps.images.withdraw(tx, params.order.imageId)
  const ended = { id, volumeId: params.volumeId, cellId: from.cellId }
  const [state, message] = isCancelled
    ? (['cancelled', null] as const)
    : (['failed', reason] as const)
  await endVolumeMove(tx, ended, state, message)
}

/**
 * Gives a volume that no guest uses to another cell, which makes it from an image of its content. It is in the former
 * cell until the other has all of it; then it is the other's, in one commit. A reconciler has the cell that is left with
 * content delete that, and removes the image.
 */
export const moveVolumeSaga: Saga<ComputeDeps, MoveVolumeParams> = {
  name: 'move-volume',
  version: 1,
  steps: [mark, save, assign, create, settle],
}
