import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { AttachmentId, CellId, InstanceId, VolumeId } from '#common/ids.ts'
import type { LocalStep, RemoteStep, Saga, StepCall } from '#common/saga/saga.ts'
import type { SwapStep } from '#openapi/wire/cell-volume.ts'
import { queueHeldStatus, queueHold, queueVolumeLock } from '../../db/held-volumes.ts'
import { findMapping, queueServerRelease, queueTakeServer } from '../../db/instance-mappings.ts'
import { queueActionEvents, queueActions } from '../../db/server-actions.ts'
import { StaleRevision } from '../../db/stale-revision.ts'
import {
  queueAttached,
  queueAttachment,
  queueDetaching,
  queueRemoveAttachment,
  queueServerVolumes,
  queueSwapped,
} from '../../db/volume-attachments.ts'
import type { ComputeDeps } from '../compute.ts'

export type SwapVolumeParams = {
  readonly serverId: InstanceId
  readonly cellId: CellId
  readonly attempt: number
  /** By which the guest has the one volume and then the other. */
  readonly attachmentId: AttachmentId
  readonly tag: string | null
  readonly fromId: VolumeId
  readonly to: {
    readonly id: VolumeId
    readonly attempt: number
    readonly isMultiattach: boolean
  }
  /** By which the other volume is held until the guest has it. */
  readonly holdId: AttachmentId
  readonly operationIds: { readonly [S in SwapStep]: string }
  readonly startedAt: number
  /** Of the request: who sent it, with a token of which project. */
  readonly userId: string
  readonly projectId: string
}

type Call = StepCall<ComputeDeps, SwapVolumeParams>
type Local = LocalStep<ComputeDeps, SwapVolumeParams>
type Remote = RemoteStep<ComputeDeps, SwapVolumeParams>

const take: Local = {
  kind: 'local',
  name: 'take',
  run: async (tx, { params, sagaId, work }) => {
    const { serverId, cellId, attempt, attachmentId, fromId, to, holdId } = params
    const isTaken = () =>
      new Failure('conflict', `Instance ${serverId} is being changed by another request.`)
    const isStale = () => new StaleRevision(`Volumes ${fromId} and ${to.id}`)
    queueTakeServer(tx, { serverId, attempt, sagaId }, isTaken)
    lock(tx, params)
    queueDetaching(tx, { id: attachmentId, volumeId: fromId }, isStale)
    queueHeldStatus(tx, fromId)
    queueHold(tx, { ...to, cellId, isReadOnly: false }, isStale)
    const held = { id: holdId, volumeId: to.id, serverId, device: null, isRoot: false }
    queueAttachment(tx, { ...held, tag: null, deletesVolume: false }, isStale)
    queueActions(tx, [actionOf(params, work.requestId, null)])
    queueActionEvents(tx, null, [{ ...eventOf(params, work.requestId), finishedAt: null }])
    return null
  },
  undo: async (tx, { deps, params, sagaId, work }) => {
    lock(tx, params)
    queueAttached(tx, params.attachmentId)
    queueRemoveAttachment(tx, params.holdId)
    show(tx, params)
    queueServerRelease(tx, params.serverId, sagaId)
    queueActions(tx, [actionOf(params, work.requestId, 'Error')])
    const ended = { finishedAt: deps.clock.now(), result: 'Error' } as const
    queueActionEvents(tx, null, [{ ...eventOf(params, work.requestId), ...ended }])
  },
}

const copy: Remote = {
  kind: 'remote',
  name: 'copy',
  run: (call) => ask(call, 'copy'),
  undo: (call) => cancel(call),
}

const pivot: Remote = {
  kind: 'remote',
  name: 'pivot',
  run: (call) => ask(call, 'pivot'),
  // A failure other than silence means that the guest has the volume that it had.
  undo: 'none',
}

const settle: Local = {
  kind: 'local',
  name: 'settle',
  run: async (tx, { deps, params, sagaId, work }) => {
    const { serverId, attachmentId, to, holdId } = params
    lock(tx, params)
    queueRemoveAttachment(tx, holdId)
    queueSwapped(tx, { id: attachmentId, volumeId: to.id })
    show(tx, params)
    queueServerRelease(tx, serverId, sagaId)
    const ended = { finishedAt: deps.clock.now(), result: 'Success' } as const
    queueActionEvents(tx, null, [{ ...eventOf(params, work.requestId), ...ended }])
    return null
  },
  forwardOnly: true,
  undo: 'none',
}

async function ask(call: Call, step: 'copy' | 'pivot'): Promise<null> {
  const { deps, params } = call
  try {
    await askCell(call, step)
    return null
  } catch (error) {
    // A delete supersedes every earlier request, and need not wait for the cell.
    if (await hasServer(deps, params)) throw error
    throw new Failure('conflict', `Instance ${params.serverId} is being deleted.`, { cause: error })
  }
}

/** The guest of a server that is being deleted lets both volumes go. */
async function cancel(call: Call): Promise<void> {
  try {
    await askCell(call, 'cancel')
  } catch (error) {
    if (await hasServer(call.deps, call.params)) throw error
  }
}

async function askCell({ deps, params, work }: Call, step: SwapStep): Promise<void> {
  const { serverId, cellId, attempt, attachmentId, tag, to } = params
  const cell = deps.cells.cell(cellId) ?? { id: cellId, name: cellId }
  const operation = { id: params.operationIds[step], serverId, attempt }
  const how = { isReadOnly: false, isShared: to.isMultiattach, ...(tag !== null && { tag }) }
  const wanted = { id: attachmentId, volumeId: to.id, volumeAttempt: to.attempt, ...how }
  await deps.askCell(cell, 'instance.swap-volume', { operation, step, to: wanted }, { work })
}

async function hasServer({ db }: ComputeDeps, { serverId, attempt }: SwapVolumeParams) {
  const mapping = await findMapping(db, serverId)
  return mapping !== undefined && !mapping.isDeleting && mapping.attempt === attempt
}

/** In one order, so that two transactions never wait for each other. */
function lock(tx: Tx, { fromId, to }: SwapVolumeParams): void {
  for (const id of [fromId, to.id].toSorted()) queueVolumeLock(tx, id)
}

/** Afterwards the locked volumes and the server show the attachments that there are now. */
function show(tx: Tx, { fromId, to, serverId }: SwapVolumeParams): void {
  for (const id of [fromId, to.id]) queueHeldStatus(tx, id)
  queueServerVolumes(tx, serverId)
}

function actionOf(params: SwapVolumeParams, requestId: string, message: string | null) {
  const { serverId, userId, projectId, fromId } = params
  const action = 'swap_volume'
  return { serverId, requestId, action, userId, projectId, message, volumeId: fromId }
}

function eventOf({ serverId, startedAt }: SwapVolumeParams, requestId: string) {
  const event = 'compute_swap_volume'
  return { serverId, requestId, event, startedAt, result: null, host: null, details: null }
}

/**
 * Gives a server another volume in the place of one that it has, with its content, while its guest runs. Both are held for the server
 * from the first commit on, and the one that it does not have at the end is free again. A delete of the server ends its attachments,
 * whatever this has come to.
 */
export const swapVolumeSaga: Saga<ComputeDeps, SwapVolumeParams> = {
  name: 'swap-volume',
  version: 1,
  steps: [take, copy, pivot, settle],
}
