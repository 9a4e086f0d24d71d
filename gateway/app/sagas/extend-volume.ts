import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { VolumeId } from '#common/ids.ts'
import type { LocalStep, Saga, StepCall } from '#common/saga/saga.ts'
import { snapshotsOfVolume } from '../../db/volume-snapshots.ts'
import { lockVolume, writeLockedVolume } from '../../db/volumes.ts'
import type { ComputeDeps } from '../compute.ts'
import { addFailureMessage, failedOn } from '../volumes/messages.ts'
import { refundVolumes } from '../volumes/quotas.ts'
import type { Target } from './next-cell.ts'
import { askStep, giveUp, isReady, settleStep } from './volume-work.ts'

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

const ask = askStep<ExtendVolumeParams>(({ deps, params, work }, { cell, operation, user }) =>
  deps.askCell(cell, 'volume.extend', { operation, sizeGb: params.toGb, ...user }, { work }),
)

const settle = settleStep<ExtendVolumeParams>(withdraw)

/** Afterwards the volume is as before, with the reason, and the quota has what it was charged. */
async function withdraw(tx: Tx, call: ExtendCall, fault: string): Promise<void> {
  const { fromGb } = call.params
  const volume = await giveUp(tx, call, { fault, chargedGb: fromGb })
  if (volume === undefined) return
  refundVolumes(tx, volume, { gigabytes: volume.chargedGb - fromGb })
  await addFailureMessage(tx, 'extending', failedOn(volume, call.work))
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
