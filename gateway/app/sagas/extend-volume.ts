import type { Tx } from '#common/db/database.ts'
import { Failure, isFailure } from '#common/errors.ts'
import type { VolumeId } from '#common/ids.ts'
import type { LocalStep, RemoteStep, Saga, StepCall } from '#common/saga/saga.ts'
import type { VolumeView } from '#openapi/wire/cell-volume.ts'
import { attachmentsOfVolumes } from '../../db/volume-attachments.ts'
import { snapshotsOfVolume } from '../../db/volume-snapshots.ts'
import { lockVolume, writeLockedVolume } from '../../db/volumes.ts'
import type { ComputeDeps } from '../compute.ts'
import { applyVolumeView } from '../volumes/apply-view.ts'
import { showAttached } from '../volumes/hold-volume.ts'
import { refundVolumes } from '../volumes/quotas.ts'
import type { Volume } from '../volumes/volume.ts'
import type { Target } from './next-cell.ts'

export interface ExtendVolumeParams {
  readonly volumeId: VolumeId
  /** Of the wire's request. */
  readonly operationId: string
  /** The size at which the request was found possible, and the new one. */
  readonly fromGb: number
  readonly toGb: number
  /** Also while a server uses it; absent: it has to be free. */
  readonly mayBeInUse?: true
}

type ExtendCall = StepCall<ComputeDeps, ExtendVolumeParams>

type Asked =
  | { readonly outcome: 'accepted'; readonly view: VolumeView }
  | { readonly outcome: 'refused'; readonly reason: string }

/** True for a volume that is free, or that one server uses where that is no hindrance. */
export function isExtendable({ status }: Pick<Volume, 'status'>, mayBeInUse: boolean): boolean {
  return status === 'available' || (mayBeInUse && status === 'in-use')
}

/** Throws `conflict` when the volume cannot be extended, is not of that size any more, or a snapshot is made of it. */
const mark: LocalStep<ComputeDeps, ExtendVolumeParams> = {
  kind: 'local',
  name: 'mark',
  run: async (tx, { params, sagaId }): Promise<Target> => {
    const { volumeId, fromGb, toGb, mayBeInUse } = params
    const volume = await lockVolume(tx, volumeId)
    const isFit = volume !== undefined && isExtendable(volume, mayBeInUse === true)
    if (!isFit || volume.sizeGb !== fromGb || volume.cellId === null)
      throw new Failure('conflict', `Volume ${volumeId} has just changed.`)
    const snapshots = await snapshotsOfVolume(tx, volumeId)
    if (snapshots.some(({ status }) => status === 'creating'))
      throw new Failure('conflict', `A snapshot of volume ${volumeId} is being created. Try again.`)
    const change = { status: 'extending', chargedGb: toGb, sagaId } as const
    await writeLockedVolume(tx, volumeId, change, { isIntent: true })
    return { cellId: volume.cellId, attempt: volume.attempt }
  },
  undo: (tx, call) => giveUp(tx, call, 'The extension ended unexpectedly.'),
}

const ask: RemoteStep<ComputeDeps, ExtendVolumeParams> = {
  kind: 'remote',
  name: 'ask',
  forwardOnly: true,
  run: async ({ deps, params, work, output }): Promise<Asked> => {
    const { cellId, attempt } = output<Target>('mark')!
    const cell = deps.cells.cell(cellId) ?? { id: cellId, name: cellId }
    const operation = { id: params.operationId, volumeId: params.volumeId, attempt }
    const [attachment] = await attachmentsOfVolumes(deps.db, [params.volumeId])
    const user = attachment === undefined ? {} : { serverId: attachment.serverId }
    const payload = { operation, sizeGb: params.toGb, ...user }
    try {
      const { view } = await deps.askCell(cell, 'volume.extend', payload, { work })
      return { outcome: 'accepted', view }
    } catch (error) {
      if (!isFailure(error, 'conflict', 'no-capacity', 'not-found', 'unsupported')) throw error
      return { outcome: 'refused', reason: error.message }
    }
  },
  undo: 'none',
}

const settle: LocalStep<ComputeDeps, ExtendVolumeParams> = {
  kind: 'local',
  name: 'settle',
  forwardOnly: true,
  run: async (tx, call) => {
    const asked = call.output<Asked>('ask')!
    if (asked.outcome === 'refused') await giveUp(tx, call, asked.reason)
    else await accept(tx, call, asked.view)
    return null
  },
  undo: 'none',
}

/** The volume while this saga is still the one that changes it. */
async function lockOwn(tx: Tx, { params, sagaId }: ExtendCall): Promise<Volume | undefined> {
  const volume = await lockVolume(tx, params.volumeId)
  return volume?.sagaId === sagaId ? volume : undefined
}

async function accept(tx: Tx, call: ExtendCall, view: VolumeView): Promise<void> {
  const volume = await lockOwn(tx, call)
  if (volume === undefined) return
  await writeLockedVolume(tx, volume.id, { sagaId: null }, { isIntent: false })
  const { cellId } = call.output<Target>('mark')!
  await applyVolumeView(tx, cellId, { ...volume, sagaId: null }, view)
}

/** Afterwards the volume is as before, with the reason, and the quota has what it was charged. */
async function giveUp(tx: Tx, call: ExtendCall, fault: string): Promise<void> {
  const volume = await lockOwn(tx, call)
  if (volume === undefined) return
  const { id, sizeGb, chargedGb } = volume
  const change = { status: 'available', chargedGb: sizeGb, fault, sagaId: null } as const
  await writeLockedVolume(tx, id, change, { isIntent: false })
  await showAttached(tx, { ...volume, ...change })
  refundVolumes(tx, volume, { gigabytes: chargedGb - sizeGb })
}

/**
 * Makes a volume larger. Done when the cell has begun or refused; the end of the work reaches the gateway through the
 * cell's feed. The quota counts the new size from the first commit on.
 */
export const extendVolumeSaga: Saga<ComputeDeps, ExtendVolumeParams> = {
  name: 'extend-volume',
  version: 1,
  steps: [mark, ask, settle],
}
