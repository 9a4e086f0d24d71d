import type { Tx } from '#common/db/database.ts'
import { isFailure } from '#common/errors.ts'
import type { InstanceId, VolumeId } from '#common/ids.ts'
import type { LocalStep, RemoteStep, StepCall } from '#common/saga/saga.ts'
import type { VolumeAttemptRef, VolumeView } from '#openapi/wire/cell-volume.ts'
import type { CellRef } from '../../cell-client/client.ts'
import { queueHeldStatus } from '../../db/held-volumes.ts'
import { attachmentsOfVolumes } from '../../db/volume-attachments.ts'
import { lockVolume, writeLockedVolume } from '../../db/volumes.ts'
import type { ComputeDeps } from '../compute.ts'
import { applyVolumeView } from '../volumes/apply-view.ts'
import type { Volume } from '../volumes/volume.ts'
import type { Target } from './next-cell.ts'

// The parts that sagas have in common which have a volume's cell do something with it.

/** The cell's answer to such a request. */
type Asked =
  | { readonly outcome: 'accepted'; readonly view: VolumeView }
  | { readonly outcome: 'refused'; readonly reason: string }

const REFUSALS = ['conflict', 'invalid', 'no-capacity', 'not-found', 'unsupported'] as const

interface VolumeParams {
  readonly volumeId: VolumeId
  /** Of the wire's request. */
  readonly operationId: string
}

type Call = StepCall<ComputeDeps, VolumeParams>

interface Question {
  readonly cell: CellRef
  readonly operation: VolumeAttemptRef
  /** Empty: no server uses it. */
  readonly user: { readonly serverId?: InstanceId }
}

/** True for a volume that is free, or that servers use where that is no hindrance. */
export function isReady({ status }: Pick<Volume, 'status'>, mayBeInUse: boolean): boolean {
  return status === 'available' || (mayBeInUse && status === 'in-use')
}

/**
 * The step that asks the volume's cell, whose refusal is an answer. `ask` gets the cell, the operation and the server that
 * uses the volume, whose host has to do the work.
 */
export function askStep<P extends VolumeParams>(
  ask: (call: StepCall<ComputeDeps, P>, question: Question) => Promise<{ view: VolumeView }>,
): RemoteStep<ComputeDeps, P> {
  return {
    kind: 'remote',
    name: 'ask',
    forwardOnly: true,
    run: async (call): Promise<Asked> => {
      const { deps, params, output } = call
      const { volumeId, operationId } = params
      const { cellId, attempt } = output<Target>('mark')!
      const [attachment] = await attachmentsOfVolumes(deps.db, [volumeId])
      const question = {
        cell: deps.cells.cell(cellId) ?? { id: cellId, name: cellId },
        operation: { id: operationId, volumeId, attempt },
        user: attachment === undefined ? {} : { serverId: attachment.serverId },
      }
      try {
        return { outcome: 'accepted', view: (await ask(call, question)).view }
      } catch (error) {
        if (!isFailure(error, ...REFUSALS)) throw error
        return { outcome: 'refused', reason: error.message }
      }
    },
    undo: 'none',
  }
}

/** The step after it; `withdraw` undoes what the request began. */
export function settleStep<P extends VolumeParams>(
  withdraw: (tx: Tx, call: StepCall<ComputeDeps, P>, reason: string) => Promise<void>,
): LocalStep<ComputeDeps, P> {
  return {
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
}

/** The locked volume while this saga is still the one that changes it. */
async function lockOwn(tx: Tx, { params, sagaId }: Call): Promise<Volume | undefined> {
  const volume = await lockVolume(tx, params.volumeId)
  return volume?.sagaId === sagaId ? volume : undefined
}

/** Afterwards the volume is as the cell shows it, which is at work on it. */
async function accept(tx: Tx, call: Call, view: VolumeView): Promise<void> {
  const volume = await lockOwn(tx, call)
  if (volume === undefined) return
  await writeLockedVolume(tx, volume.id, { sagaId: null }, { isIntent: false })
  const { cellId } = call.output<Target>('mark')!
  await applyVolumeView(tx, cellId, { ...volume, sagaId: null }, view)
}

/** Afterwards the volume is as before, with the reason; returns what it was, if it is this saga's. */
export async function giveUp(
  tx: Tx,
  call: Call,
  before: { readonly fault: string; readonly chargedGb?: number },
): Promise<Volume | undefined> {
  const volume = await lockOwn(tx, call)
  if (volume === undefined) return undefined
  const change = { ...before, status: 'available', sagaId: null } as const
  await writeLockedVolume(tx, volume.id, change, { isIntent: false })
  queueHeldStatus(tx, volume.id)
  return volume
}
