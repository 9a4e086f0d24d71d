import type { WorkContext } from '#common/context.ts'
import type { Tx } from '#common/db/database.ts'
import type { CellId, SagaId, VolumeId } from '#common/ids.ts'
import type { LocalStep, RemoteStep, Saga, Step, StepCall } from '#common/saga/saga.ts'
import type {
  VolumeAttemptRef,
  VolumeCreateAnswer,
  VolumeSource,
} from '#openapi/wire/cell-volume.ts'
import { queueTraces } from '../../db/traces.ts'
import { findVolume, lockVolume, writeLockedVolume } from '../../db/volumes.ts'
import { refuseAllUnreachable, refuseUnheard } from '../cells/unheard-cells.ts'
import type { ComputeDeps } from '../compute.ts'
import { applyVolumeView } from '../volumes/apply-view.ts'
import {
  chooseVolumeCell,
  type VolumeCellChoice,
  type VolumeCellRequest,
  type WantedStores,
} from '../volumes/choose-cell.ts'
import { addFailureMessage, failedOn } from '../volumes/messages.ts'
import type { StoredSource, Volume } from '../volumes/volume.ts'
import type { Target } from './next-cell.ts'

export interface CreateVolumeParams {
  readonly volumeId: VolumeId
  /** The cell that is asked first, in the first attempt. */
  readonly cellId: CellId
  /** Of the wire's create, one per round. */
  readonly operationIds: readonly string[]
  /** As its user's hints say; absent: any. */
  readonly stores?: WantedStores | undefined
}

type CreateCall = StepCall<ComputeDeps, CreateVolumeParams>
type Settled = { readonly next: Target | null }
type Outcome = VolumeCreateAnswer | { readonly outcome: 'superseded' }

/** More cells than this are not asked for one volume, however many there are. */
export const VOLUME_ROUNDS_MAX = 5

function targetOf(call: CreateCall, round: number): Target | undefined {
  if (round === 1) return { cellId: call.params.cellId, attempt: 1 }
  return call.output<Settled>(`settle-${round - 1}`)?.next ?? undefined
}

function askStep(round: number): RemoteStep<ComputeDeps, CreateVolumeParams> {
  return {
    kind: 'remote',
    name: `create-${round}`,
    when: (call) => targetOf(call, round) !== undefined,
    // A cell that cannot report its outcome is asked until it can: no other may make the volume meanwhile.
    forwardOnly: true,
    run: async (call): Promise<Outcome> => {
      const target = targetOf(call, round)!
      const { deps, params } = call
      const volume = await findVolume(deps.db, params.volumeId)
      if (volume === undefined || !isWanted(volume, target, call.sagaId)) return SUPERSEDED
      try {
        const { cellId, attempt } = target
        const operation = { id: params.operationIds[round - 1]!, volumeId: volume.id, attempt }
        const { stores } = params
        return await askCreate(deps, { cellId, operation, volume, stores }, call.work)
      } catch (error) {
        const now = await findVolume(deps.db, params.volumeId)
        if (now === undefined || !isWanted(now, target, call.sagaId)) return SUPERSEDED
        throw error
      }
    },
    undo: 'none',
  }
}

/** Keeps how the cell chose a store in this attempt, where it says so. */
export function queueStoreTrace(
  tx: Tx,
  { id, attempt }: Pick<Volume, 'id' | 'attempt'>,
  answer: Outcome,
): void {
  const trace = 'trace' in answer ? answer.trace : undefined
  if (trace !== undefined) queueTraces(tx, [{ serverId: id, attempt, trace }])
}

const SUPERSEDED = { outcome: 'superseded' } as const

/** False when a delete has taken the volume over, or it was assigned elsewhere. */
function isWanted(volume: Volume, { attempt }: Target, sagaId: SagaId): boolean {
  return !volume.isDeleting && volume.attempt === attempt && volume.sagaId === sagaId
}

/** The cell's committed answer to the request that it make the volume. Throws `unavailable` while there is none. */
export function askCreate(
  deps: ComputeDeps,
  asked: {
    readonly cellId: CellId
    readonly operation: VolumeAttemptRef
    readonly volume: Volume
    /** The key that opens the content, which is an image and encrypted, sealed for the cell; undefined: it is not. */
    readonly sealedKey?: string | undefined
    /** The name of a host that is to reach its store; undefined: any. */
    readonly host?: string | undefined
    /** Undefined: it may be in any. */
    readonly stores?: WantedStores | undefined
  },
  work: WorkContext,
): Promise<VolumeCreateAnswer> {
  const { cellId, operation, host, sealedKey, stores = {} } = asked
  const { projectId, sizeGb, zone, specs, source, encryption } = asked.volume
  const cell = deps.cells.cell(cellId) ?? { id: cellId, name: cellId }
  const from =
    source === null ? {} : { source: sealedSource(readable(deps, source, cellId), sealedKey) }
  const near = host === undefined ? {} : { host }
  const sealed = encryption === null ? {} : { encryption }
  const { amongStores, notInStores } = stores
  const hinted = {
    ...(amongStores && { amongStores: [...amongStores] }),
    ...(notInStores && { notInStores: [...notInStores] }),
  }
  const where = { zone, ...near, ...hinted }
  const volume = { projectId, sizeGb, specs: { ...specs }, ...sealed, ...from, ...where }
  return deps.askCell(cell, 'volume.create', { operation, volume }, { work })
}

/** The source with the proof that the cell may read it. */
function readable(
  { imageTicket }: ComputeDeps,
  source: StoredSource,
  cellId: CellId,
): VolumeSource {
  if (source.kind !== 'image') return source
  const { image } = source
  return { kind: 'image', image: { ...image, ticket: imageTicket(image.id, cellId) } }
}

function sealedSource(source: VolumeSource, sealedKey: string | undefined): VolumeSource {
  if (sealedKey === undefined || source.kind !== 'image') return source
  return { ...source, kind: 'sealed-image', sealedKey }
}

function settleStep(round: number): LocalStep<ComputeDeps, CreateVolumeParams> {
  return {
    kind: 'local',
    name: `settle-${round}`,
    when: (call) => call.output(`create-${round}`) !== undefined,
    forwardOnly: true,
    run: (tx, call) => settle(tx, call, targetOf(call, round)!, call.output(`create-${round}`)!),
    undo: 'none',
  }
}

async function settle(
  tx: Tx,
  { deps, params, sagaId, work }: CreateCall,
  target: Target,
  outcome: Outcome,
): Promise<Settled> {
  const volume = await lockVolume(tx, params.volumeId)
  if (volume === undefined || !isWanted(volume, target, sagaId)) return { next: null }
  queueStoreTrace(tx, volume, outcome)
  if (outcome.outcome === 'refused') {
    const settled = await assignNext(tx, deps, { ...volume, stores: params.stores }, outcome.reason)
    if (settled.next === null) await addFailureMessage(tx, 'placing', failedOn(volume, work))
    return settled
  }
  await writeLockedVolume(tx, volume.id, { sagaId: null }, { isIntent: false })
  if (outcome.outcome === 'accepted')
    await applyVolumeView(tx, target.cellId, { ...volume, sagaId: null }, outcome.view)
  return { next: null }
}

/**
 * The cell to ask for a volume. Throws `unavailable` when every cell is unreachable, and where none will do while this
 * gateway has just begun and may still hear another.
 */
export function placeVolume(
  { cells, clock }: Pick<ComputeDeps, 'cells' | 'clock'>,
  request: VolumeCellRequest,
): VolumeCellChoice {
  const all = cells.cells()
  refuseAllUnreachable(all)
  const choice = chooseVolumeCell(all, request, clock.now())
  if (choice.chosen === undefined) refuseUnheard(cells, all)
  return choice
}

/**
 * Points a volume that its cell refused at the next cell; or shows it in error and in no cell when none is left. Throws
 * what `placeVolume` does.
 */
async function assignNext(
  tx: Tx,
  deps: ComputeDeps,
  volume: Volume & Pick<CreateVolumeParams, 'stores'>,
  reason: string,
): Promise<Settled> {
  const tried = volume.cellId === null ? volume.triedCells : [...volume.triedCells, volume.cellId]
  const only = volume.source === null || volume.source.kind === 'image' ? null : volume.cellId
  const request = { ...volume, only, tried }
  const attempt = volume.attempt + 1
  const mayGo = tried.length < VOLUME_ROUNDS_MAX
  const choice = mayGo ? placeVolume(deps, request) : undefined
  if (choice !== undefined) queueTraces(tx, [{ serverId: volume.id, attempt, trace: choice.trace }])
  const chosen = choice?.chosen
  const next = { attempt, triedCells: tried, cellVersion: 0 }
  if (chosen === undefined) {
    const change = { ...next, cellId: null, status: 'error', fault: reason, sagaId: null } as const
    await writeLockedVolume(tx, volume.id, change, { isIntent: false })
    return { next: null }
  }
  await writeLockedVolume(tx, volume.id, { ...next, cellId: chosen.id }, { isIntent: true })
  return { next: { cellId: chosen.id, attempt } }
}

const rounds = Array.from({ length: VOLUME_ROUNDS_MAX }, (_, index) => index + 1)

/**
 * Makes a volume that was just accepted: asks one cell after the other, the next only after the former's committed
 * refusal. It is done when a cell has accepted; the end of the work reaches the gateway through the cell's feed.
 */
export const createVolumeSaga: Saga<ComputeDeps, CreateVolumeParams> = {
  name: 'create-volume',
  version: 1,
  steps: rounds.flatMap((round): readonly Step<ComputeDeps, CreateVolumeParams>[] => [
    askStep(round),
    settleStep(round),
  ]),
}
