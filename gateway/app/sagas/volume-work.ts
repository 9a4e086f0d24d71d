import type { Tx } from '#common/db/database.ts'
import type { StepCall } from '#common/saga/saga.ts'
import type { VolumeView } from '#openapi/wire/cell-volume.ts'
import { lockVolume, writeLockedVolume } from '../../db/volumes.ts'
import type { ComputeDeps } from '../compute.ts'
import { applyVolumeView } from '../volumes/apply-view.ts'
import { showAttached } from '../volumes/hold-volume.ts'
import type { Volume } from '../volumes/volume.ts'
import type { Target } from './next-cell.ts'

// The parts that sagas have in common which have a volume's cell do something with it.

/** The cell's answer to such a request. */
export type Asked =
  | { readonly outcome: 'accepted'; readonly view: VolumeView }
  | { readonly outcome: 'refused'; readonly reason: string }

type Call = StepCall<ComputeDeps, { readonly volumeId: string }>

/** True for a volume that is free, or that servers use where that is no hindrance. */
export function isReady({ status }: Pick<Volume, 'status'>, mayBeInUse: boolean): boolean {
  return status === 'available' || (mayBeInUse && status === 'in-use')
}

/** The locked volume while this saga is still the one that changes it. */
export async function lockOwn(tx: Tx, { params, sagaId }: Call): Promise<Volume | undefined> {
  const volume = await lockVolume(tx, params.volumeId)
  return volume?.sagaId === sagaId ? volume : undefined
}

/** Afterwards the volume is as the cell shows it, which is at work on it. */
export async function accept(tx: Tx, call: Call, view: VolumeView): Promise<void> {
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
  await showAttached(tx, { ...volume, ...change })
  return volume
}
