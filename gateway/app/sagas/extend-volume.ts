import type { Tx } from '#common/db/database.ts'
import { Failure, isFailure } from '#common/errors.ts'
import type { VolumeId } from '#common/ids.ts'
import type { LocalStep, RemoteStep, Saga, StepCall } from '#common/saga/saga.ts'
import { attachmentsOfVolumes } from '../../db/volume-attachments.ts'
import { snapshotsOfVolume } from '../../db/volume-snapshots.ts'
import { lockVolume, writeLockedVolume } from '../../db/volumes.ts'
import type { ComputeDeps } from '../compute.ts'
import { refundVolumes } from '../volumes/quotas.ts'
import type { Target } from './next-cell.ts'
import { type Asked, accept, giveUp, isReady } from './volume-work.ts'

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

/** Throws `conflict` when the volume cannot be extended, is not of that size any more, or a snapshot is made of it. */
const mark: LocalStep<ComputeDeps, ExtendVolumeParams> = {
  kind: 'local',
  name: 'mark',
  run: async (tx, { params, sagaId }): Promise<Target> => {
    const { volumeId, fromGb, toGb, mayBeInUse } = params
    const volume = await lockVolume(tx, volumeId)
    const isFit = volume !== undefined && isReady(volume, mayBeInUse === true)
    if (!isFit || volume.sizeGb !== fromGb || volume.cellId === null)
      throw new Failure('conflict', `Volume ${volumeId} has just changed.`)
    const snapshots = await snapshotsOfVolume(tx, volumeId)
    if (snapshots.some(({ status }) => status === 'creating'))
      throw new Failure('conflict', `A snapshot of volume ${volumeId} is being created. Try again.`)
    const change = { status: 'extending', chargedGb: toGb, sagaId } as const
    await writeLockedVolume(tx, volumeId, change, { isIntent: true })
    return { cellId: volume.cellId, attempt: volume.attempt }
  },
  undo: (tx, call) => withdraw(tx, call, 'The extension ended unexpectedly.'),
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
    if (asked.outcome === 'refused') await withdraw(tx, call, asked.reason)
    else await accept(tx, call, asked.view)
    return null
  },
  undo: 'none',
}

/** Afterwards the volume is as before, with the reason, and the quota has what it was charged. */
async function withdraw(tx: Tx, call: ExtendCall, fault: string): Promise<void> {
  const { fromGb } = call.params
  const volume = await giveUp(tx, call, { fault, chargedGb: fromGb })
  if (volume !== undefined) refundVolumes(tx, volume, { gigabytes: volume.chargedGb - fromGb })
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
