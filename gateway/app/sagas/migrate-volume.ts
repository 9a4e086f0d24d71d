import type { Tx } from '#common/db/database.ts'
import { Failure, isFailure } from '#common/errors.ts'
import type { CellId, VolumeId } from '#common/ids.ts'
import type { LocalStep, RemoteStep, Saga, StepCall } from '#common/saga/saga.ts'
import type { VolumeEncryption, VolumeView } from '#openapi/wire/cell-volume.ts'
import type { Trace } from '#openapi/wire/trace.ts'
import { noteProgress } from '../../db/operations.ts'
import { queueTraces } from '../../db/traces.ts'
import { attachmentsOfVolumes } from '../../db/volume-attachments.ts'
import { beginVolumeMove, endVolumeMove, isMoveCancelled } from '../../db/volume-moves.ts'
import { snapshotsOfVolume } from '../../db/volume-snapshots.ts'
import { findType, lockType } from '../../db/volume-types.ts'
import { findVolume, lockVolume, writeLockedVolume } from '../../db/volumes.ts'
import type { ComputeDeps } from '../compute.ts'
import { applyVolumeView } from '../volumes/apply-view.ts'
import { unmovable, whyUnmovable } from '../volumes/movable.ts'
import { chargeType, refundType } from '../volumes/quotas.ts'
import { encryptionOf } from '../volumes/type-encryption.ts'
import type { Volume } from '../volumes/volume.ts'
import { ASKED_MAX, PAUSE_MS, REFUSALS, reachableCell } from './move-volume-wait.ts'

export type MigrateVolumeParams = {
  readonly volumeId: VolumeId
  readonly reason: string | null
  readonly userId: string
  /** The store that it is to go to, as it was named; null: any that its type allows. */
  readonly toStore: string | null
  /** The ids of such stores; absent: any. */
  readonly amongStores?: readonly string[]
  /** The zone of the store; null: any. */
  readonly zone: string | null
  /** The type that it gets with the store; absent: it keeps its own. */
  readonly retype?: {
    readonly typeId: string
    readonly specs: Readonly<Record<string, string>>
    readonly isMultiattach: boolean
    /** How it encrypts the volume; null: not at all; absent: as it is. */
    readonly encryption?: VolumeEncryption | null
  }
  /** Of the wire's request. */
  readonly requestId: string
}

type Call = StepCall<ComputeDeps, MigrateVolumeParams>
type Marked = {
  readonly operationId: string
  readonly cellId: CellId
  readonly attempt: number
  readonly storeId: string
}
type Asked =
  | { readonly outcome: 'answered'; readonly view: VolumeView; readonly trace: Trace | null }
  | { readonly outcome: 'failed'; readonly reason: string }

const statusOf = ({ retype }: MigrateVolumeParams) =>
  retype === undefined ? ('maintenance' as const) : ('retyping' as const)

/** Throws `conflict` when the volume cannot be moved any more, and `over-quota` for its new type. */
const mark: LocalStep<ComputeDeps, MigrateVolumeParams> = {
  kind: 'local',
  name: 'mark',
  run: async (tx, { params, sagaId, work }): Promise<Marked> => {
    const { volumeId, reason, userId, toStore, retype } = params
    const isTypeThere = retype === undefined || (await lockType(tx, retype.typeId))
    const volume = await lockVolume(tx, volumeId)
    if (volume === undefined)
      throw new Failure('not-found', `Volume ${volumeId} could not be found.`)
    if (!isTypeThere || (retype !== undefined && !(await isAsTaken(tx, volume, retype))))
      throw unmovable(volume, 'the type that it is to have has just changed.')
    const attachments = await attachmentsOfVolumes(tx, [volumeId])
    const { length: snapshots } = await snapshotsOfVolume(tx, volumeId)
    const why = whyUnmovable(volume, { attachments, snapshots })
    if (why !== undefined) throw unmovable(volume, why)
    const { cellId, storeId, attempt, projectId } = volume
    if (cellId === null || storeId === null) throw unmovable(volume, 'it is in no store.')
    const operationId = await beginVolumeMove(tx, {
      ...{ subjectId: volumeId, subject: volume.name ?? volumeId, cellId, toCellId: cellId },
      ...{ toStore, attempt, reason, userId, requestId: work.requestId },
    })
    if (operationId === undefined) throw unmovable(volume, 'it is being moved already.')
    const nextTypeId = params.retype?.typeId ?? null
    const held = { status: statusOf(params), nextTypeId, sagaId } as const
    await writeLockedVolume(tx, volumeId, held, { isIntent: true })
    await chargeType(tx, { projectId, typeId: nextTypeId }, amountsOf(volume))
    return { operationId, cellId, attempt, storeId }
  },
  undo: async (tx, call) => {
    await stay(tx, call, 'The move ended unexpectedly.')
  },
}

/** Whether the type, which is locked, encrypts the volume as this move does. */
async function isAsTaken(
  tx: Tx,
  volume: Volume,
  { typeId, encryption = volume.encryption }: NonNullable<MigrateVolumeParams['retype']>,
): Promise<boolean> {
  const type = await findType(tx, typeId, { all: true })
  return type !== undefined && encryptionOf(type)?.keyBits === encryption?.keyBits
}

const amountsOf = ({ chargedGb }: Volume) => ({ volumes: 1, gigabytes: chargedGb })

/** The cell is asked until the volume is free again, here or there. It is told of a cancellation. */
const ask: RemoteStep<ComputeDeps, MigrateVolumeParams> = {
  kind: 'remote',
  name: 'ask',
  forwardOnly: true,
  run: async (call, signal): Promise<Asked> => {
    const { deps, params, sagaId } = call
    const { operationId, cellId } = call.output<Marked>('mark')!
    await noteProgress(deps.db, operationId, { message: 'Its content is on its way.' })
    // Only the first answer says how the cell chose a store.
    let trace: Trace | null = null
    for (let asked = 0; asked < ASKED_MAX; asked += 1) {
      const volume = await findVolume(deps.db, params.volumeId)
      if (volume?.sagaId !== sagaId || volume.isDeleting)
        return { outcome: 'failed', reason: TAKEN }
      try {
        const answer = await askOnce(call, volume, cellId)
        trace ??= answer.trace ?? null
        if (answer.view.state !== 'uploading')
          return { outcome: 'answered', view: answer.view, trace }
      } catch (error) {
        if (isFailure(error, ...REFUSALS)) return { outcome: 'failed', reason: error.message }
        if (isFailure(error, 'unavailable'))
          await noteProgress(deps.db, operationId, { message: error.message })
        throw error
      }
      await deps.clock.sleep(PAUSE_MS, signal)
    }
    throw new Failure('unavailable', `The cell is still at work on volume ${params.volumeId}.`)
  },
  undo: 'none',
}

async function askOnce(call: Call, volume: Volume, cellId: CellId) {
  const { deps, params, work } = call
  const { operationId, attempt } = call.output<Marked>('mark')!
  const { volumeId, requestId, retype, zone, amongStores } = params
  const { encryption } = volume
  const isCancelled = await isMoveCancelled(deps.db, operationId)
  const request = {
    operation: { id: requestId, volumeId, attempt },
    ...{ zone, specs: { ...(retype?.specs ?? volume.specs) } },
    ...(amongStores && { amongStores: [...amongStores] }),
    ...(isCancelled && { isCancelled }),
  }
  const cell = await reachableCell(call, cellId)
  if (retype?.encryption === undefined) {
    const same = { ...request, ...(encryption && { encryption }) }
    return deps.askCell(cell, 'volume.migrate', same, { work })
  }
  // A cell that does not know this refuses it; another field of the question above it would overlook.
  const change = { ...request, from: encryption, to: retype.encryption }
  return deps.askCell(cell, 'volume.change-encryption', change, { work })
}

const TAKEN = 'The volume was deleted, or its cell was lost.'

/** Afterwards the volume is free, in the other store with its new type, or as it was. */
const settle: LocalStep<ComputeDeps, MigrateVolumeParams> = {
  kind: 'local',
  name: 'settle',
  forwardOnly: true,
  run: async (tx, call) => {
    const marked = call.output<Marked>('mark')!
    const asked = call.output<Asked>('ask')!
    const volume = await lockVolume(tx, call.params.volumeId)
    const hasGone = asked.outcome === 'answered' && asked.view.storeId !== marked.storeId
    if (volume !== undefined && isOwn(volume, call) && hasGone)
      await goOver(tx, call, volume, asked)
    else await stay(tx, call, reasonOf(asked))
    return null
  },
  undo: 'none',
}

function reasonOf(asked: Asked): string {
  if (asked.outcome === 'failed') return asked.reason
  return asked.view.fault ?? 'The volume was changed meanwhile.'
}

async function goOver(
  tx: Tx,
  call: Call,
  volume: Volume,
  { view, trace }: Extract<Asked, { outcome: 'answered' }>,
): Promise<void> {
  const { volumeId, retype } = call.params
  const marked = call.output<Marked>('mark')!
  const free = { status: 'available', sagaId: null, fault: null } as const
  const change = { ...free, ...retype, nextTypeId: null }
  await writeLockedVolume(tx, volumeId, change, { isIntent: true })
  await applyVolumeView(tx, marked.cellId, { ...volume, ...change }, view)
  if (trace !== null) queueTraces(tx, [{ serverId: volumeId, attempt: marked.attempt, trace }])
  await endVolumeMove(tx, { id: marked.operationId, volumeId, cellId: marked.cellId }, 'done', null)
  if (retype !== undefined) refundType(tx, volume, amountsOf(volume))
}

/** True while the volume is held for this move: a delete may take it, and its cell may be lost. */
function isOwn(volume: Volume, { sagaId }: Call): boolean {
  return volume.sagaId === sagaId && !volume.isDeleting
}

/** Afterwards the volume, if it is this move's, is free where it was, and the move has ended for this reason, or was cancelled. */
async function stay(tx: Tx, call: Call, reason: string): Promise<void> {
  const marked = call.output<Marked>('mark')
  if (marked === undefined) return
  const { volumeId } = call.params
  const { operationId: id, cellId } = marked
  const isCancelled = await isMoveCancelled(tx, id)
  const volume = await lockVolume(tx, volumeId)
  if (volume !== undefined && isOwn(volume, call)) {
    const change = {
      sagaId: null,
      status: 'available',
      fault: isCancelled ? null : reason,
    } as const
    await writeLockedVolume(tx, volumeId, change, { isIntent: false })
    const asked = call.output<Asked>('ask')
    if (asked?.outcome === 'answered')
      await applyVolumeView(tx, cellId, { ...volume, ...change }, asked.view)
  }
  const [state, message] = isCancelled
    ? (['cancelled', null] as const)
    : (['failed', reason] as const)
  await endVolumeMove(tx, { id, volumeId, cellId }, state, message)
  // What removes the volume returns the quota that it has then.
  if (volume === undefined || volume.nextTypeId === null) return
  await writeLockedVolume(tx, volumeId, { nextTypeId: null }, { isIntent: false })
  refundType(tx, { ...volume, typeId: volume.nextTypeId }, amountsOf(volume))
}

/**
 * Has a volume that no server uses go to another store of its cell, and gives it the type for which it goes. Quotas count it in
 * both types until then. The cell decides, in one commit, that it is in the other store; until then the move can be cancelled.
 */
export const migrateVolumeSaga: Saga<ComputeDeps, MigrateVolumeParams> = {
  name: 'migrate-volume',
  version: 1,
  steps: [mark, ask, settle],
}

/** The same for a volume that its new type encrypts otherwise, which it does in the other store. */
export const changeEncryptionSaga: Saga<ComputeDeps, MigrateVolumeParams> = {
  ...migrateVolumeSaga,
  // A gateway of a release that knows no such change must not take it up.
  name: 'change-volume-encryption',
}
