import { Failure } from '#common/errors.ts'
import type { CellId, VolumeId } from '#common/ids.ts'
import type { LocalStep, RemoteStep, StepCall } from '#common/saga/saga.ts'
import { findMapping } from '../../db/instance-mappings.ts'
import { findVolume, lockVolume, writeLockedVolume } from '../../db/volumes.ts'
import type { ComputeDeps } from '../compute.ts'
import { volumeNotMade } from '../servers/boot/faults.ts'
import { applyVolumeView, NOWHERE } from '../volumes/apply-view.ts'
import { releaseVolumes } from '../volumes/hold-volume.ts'
import { addFailureMessage, failedOn } from '../volumes/messages.ts'
import type { BuildParams } from './build-rounds.ts'
import { askCreate, queueStoreTrace } from './create-volume.ts'
import { giveUpBuild } from './give-up-build.ts'
import { hostForVolumes } from './host-for-volumes.ts'

/** A volume that is made for a server before it is built. */
export type NewServerVolume = {
  readonly volumeId: VolumeId
  /** Of the wire's create. */
  readonly operationId: string
}

export interface MakeVolumesParams extends BuildParams {
  readonly cellId: CellId | null
  readonly attempt: number
  /** Absent: none. */
  readonly newVolumes?: readonly NewServerVolume[]
}

type Call = StepCall<ComputeDeps, MakeVolumesParams>

/** `failed`: the volume that its cell could not make, and why; null: all are made, or nobody wants them. */
type Made = {
  readonly failed: { readonly volumeId: string; readonly reason: string } | null
}

const STEP = 'make-volumes'
const POLL_MS = 100
/** The saga then rests, and looks again. */
const WAIT_MS = 60_000

/** True once the volumes of the server are made, or it needs none. */
export function areVolumesMade(call: StepCall<ComputeDeps, MakeVolumesParams>): boolean {
  return call.params.newVolumes === undefined || call.output<Made>(STEP)?.failed === null
}

/** Afterwards the server's new volumes are in its cell, whole; or one is in error, and says why. */
export const makeVolumes: RemoteStep<ComputeDeps, MakeVolumesParams> = {
  kind: 'remote',
  name: STEP,
  when: ({ params }) => params.newVolumes !== undefined && params.cellId !== null,
  // A cell that cannot report its outcome is asked until it can.
  forwardOnly: true,
  run: async (call, signal): Promise<Made> => {
    const { newVolumes = [] } = call.params
    const host = await hostFor(call, newVolumes)
    for (const volume of newVolumes) {
      const reason = await make(call, { ...volume, host }, signal)
      if (reason !== undefined) return { failed: { volumeId: volume.volumeId, reason } }
    }
    return { failed: null }
  },
  undo: 'none',
}

async function hostFor(
  { deps, params, work }: Call,
  newVolumes: readonly NewServerVolume[],
): Promise<string | undefined> {
  const request = await deps.specCache.find(deps.db, params.serverId)
  const cellId = params.cellId!
  if (request === undefined) return undefined
  const cell = deps.cells.cell(cellId) ?? { id: cellId, name: cellId }
  const ids = new Set<string>(newVolumes.map(({ volumeId }) => volumeId))
  return hostForVolumes(deps, cell, { spec: request.spec, newVolumes: ids }, work)
}

/** Undefined once it is whole; otherwise the reason why it will not be. */
async function make(
  call: Call,
  { volumeId, operationId, host }: NewServerVolume & { readonly host: string | undefined },
  signal: AbortSignal,
): Promise<string | undefined> {
  const { deps, work } = call
  const cellId = call.params.cellId!
  const volume = await findVolume(deps.db, volumeId)
  if (volume?.sagaId === call.sagaId && !volume.isDeleting) {
    try {
      const operation = { id: operationId, volumeId, attempt: volume.attempt }
      const answer = await askCreate(deps, { cellId, operation, volume, host }, work)
      await deps.db.transaction(async (tx) => {
        const locked = await lockVolume(tx, volumeId)
        if (locked?.sagaId !== call.sagaId) return
        queueStoreTrace(tx, locked, answer)
        const refused = { ...NOWHERE, attempt: locked.attempt + 1 }
        if (answer.outcome === 'refused') {
          await writeLockedVolume(tx, volumeId, { ...refused, fault: answer.reason }, FOR_CELL)
          await addFailureMessage(tx, 'placing', failedOn(locked, work))
        } else await writeLockedVolume(tx, volumeId, { sagaId: null }, FOR_CELL)
        if (answer.outcome === 'accepted')
          await applyVolumeView(tx, cellId, { ...locked, sagaId: null }, answer.view)
      })
    } catch (error) {
      if (!(await isWanted(call))) return 'The server was deleted.'
      throw error
    }
  }
  return settled(call, volumeId, signal)
}

const FOR_CELL = { isIntent: false } as const

/** Waits for the word of its cell, which comes by the feed. */
async function settled(
  call: Call,
  volumeId: VolumeId,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { db, clock } = call.deps
  for (const end = clock.elapsed() + WAIT_MS; clock.elapsed() < end; ) {
    const volume = await findVolume(db, volumeId)
    if (volume === undefined || volume.isDeleting) return 'It was deleted.'
    if (volume.status.startsWith('error')) return volume.fault ?? 'Its store could not make it.'
    if (volume.status !== 'creating') return undefined
    if (!(await isWanted(call))) return 'The server was deleted.'
    await clock.sleep(POLL_MS, signal)
  }
  throw new Failure('unavailable', `Volume ${volumeId} is still being made.`)
}

async function isWanted({ deps, params }: Call): Promise<boolean> {
  const mapping = await findMapping(deps.db, params.serverId)
  return mapping !== undefined && !mapping.isDeleting && mapping.attempt === params.attempt
}

/** Afterwards a server whose volumes could not be made is in ERROR, in no cell, and holds no volume. */
export const giveUpVolumes: LocalStep<ComputeDeps, MakeVolumesParams> = {
  kind: 'local',
  name: 'give-up-volumes',
  when: (call) => call.output<Made>(STEP)?.failed != null,
  run: async (tx, call) => {
    const { deps, params, sagaId } = call
    const failed = call.output<Made>(STEP)?.failed
    if (failed == null) return null
    await giveUpBuild(tx, deps, params.serverId, sagaId, volumeNotMade(deps.clock.now(), failed))
    await releaseVolumes(tx, [params.serverId])
    return null
  },
  forwardOnly: true,
  undo: 'none',
}
