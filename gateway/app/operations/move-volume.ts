import { Failure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import type { Cell } from '../../cell-client/cell.ts'
import type { IdempotencyKey } from '../../db/idempotency-keys.ts'
import type { OperationRecord } from '../../db/operations.ts'
import { attachmentsOfVolumes } from '../../db/volume-attachments.ts'
import { hasContentLeft, runningVolumeMove } from '../../db/volume-moves.ts'
import { snapshotsOfVolume } from '../../db/volume-snapshots.ts'
import { findVolume } from '../../db/volumes.ts'
import { findOperatedCell, type OperatedCell } from '../cells/operated-cells.ts'
import type { Compute } from '../compute.ts'
import { foundIdOf } from '../federation/named.ts'
import { reachable } from '../hosts/host-state.ts'
import { findEarlierResult } from '../once-per-key.ts'
import type { RequestContext } from '../request-context.ts'
import { type MoveVolumeParams, moveVolumeSaga } from '../sagas/move-volume.ts'
import type { SnapshotOrder } from '../servers/boot/server-images.ts'
import { chooseVolumeCell, type VolumeCellRequest, whyNoRoom } from '../volumes/choose-cell.ts'
import { refuseUnmovable, unmovable } from '../volumes/movable.ts'
import type { Volume } from '../volumes/volume.ts'
import { beginVolumeMove, begunOnce } from './begin-volume-move.ts'
import { moveVolumeToStore } from './move-to-store.ts'
import { findOperation } from './operations.ts'

export interface VolumeMoveRequest {
  /** The cell that is to have it, by id or name. */
  readonly cell: string
  readonly reason: string | null
}

type Made = { readonly operationId: string }

/** Where a volume is to go: exactly one of the two. */
interface Destination {
  readonly cell?: string
  readonly store?: string
  readonly reason?: string | null
}

/** As `moveVolume` and `moveVolumeToStore`, by what is named. Throws `invalid` unless that is one of the two. */
export async function moveVolumeTo(
  compute: Compute,
  context: RequestContext,
  idOrName: string,
  { cell, store, reason = null }: Destination,
  key: IdempotencyKey | null,
): Promise<OperationRecord> {
  if (cell !== undefined && store === undefined)
    return moveVolume(compute, context, idOrName, { cell, reason }, key)
  if (store !== undefined && cell === undefined)
    return moveVolumeToStore(compute, context, idOrName, { store, reason }, key)
  throw new Failure(
    'invalid',
    'Name either a cell to move the volume to, or a store of the cell that it is in.',
  )
}

/**
 * Begins to move a volume of any project, named by id or name, to another cell, or returns the operation that does so
 * already, or did under this key. Throws `not-found`; `conflict` for a volume that cannot be moved now, for a cell that
 * cannot take it, and for a name of several volumes; `over-quota` for images; `unavailable` while either cell is unreachable.
 */
export async function moveVolume(
  compute: Compute,
  context: RequestContext,
  idOrName: string,
  request: VolumeMoveRequest,
  key: IdempotencyKey | null = null,
): Promise<OperationRecord> {
  const { db, cells } = compute
  const earlier = await findEarlierResult<Made>(db, key)
  if (earlier !== undefined) return findOperation(db, earlier.operationId)
  const id = await foundIdOf(db, 'volume', idOrName)
  const to = await findOperatedCell(db, cells, request.cell)
  const volume = await findVolume(db, id)
  if (volume === undefined)
    throw new Failure('not-found', `There is no volume with the id or name ${idOrName}.`)
  const running = await runningMove(compute, volume, to)
  if (running !== undefined) return running
  await refuseNow(compute, volume, to)
  return begunOnce(
    () => begin(compute, context, { volume, to, reason: request.reason }, key),
    () => runningMove(compute, volume, to),
  )
}

/** The operation that moves the volume to this cell. Throws `conflict` for one that moves it elsewhere. */
async function runningMove(
  { db }: Compute,
  volume: Volume,
  to: OperatedCell,
): Promise<OperationRecord | undefined> {
  const running = await runningVolumeMove(db, volume.id)
  const isThisMove = running?.toCellId === to.id && running.toCellId !== volume.cellId
  if (running === undefined || isThisMove) return running
  throw unmovable(volume, `operation ${running.id} moves it elsewhere. Cancel that first.`)
}

/** Throws `conflict` and `unavailable`, so that nothing is saved in vain. */
async function refuseNow(compute: Compute, volume: Volume, to: OperatedCell): Promise<void> {
  const { db, cells, clock } = compute
  if (volume.cellId === to.id)
    throw unmovable(volume, `it is in cell ${to.name}. Name another cell.`)
  const attachments = await attachmentsOfVolumes(db, [volume.id])
  const snapshots = await snapshotsOfVolume(db, volume.id)
  refuseUnmovable(volume, { attachments, snapshots: snapshots.length })
  reachable(cells.cell(volume.cellId ?? ''))
  if (cells.cell(to.id)?.isLost === true)
    throw unmovable(volume, `cell ${to.name} was declared lost. Name another cell.`)
  const cell = reachable(cells.cell(to.id))
  if (await hasContentLeft(db, volume.id, to.id))
    throw unmovable(
      volume,
      `cell ${to.name} is still deleting what it had of it. Repeat the request in a minute.`,
    )
  const { sizeGb, specs, encryption } = volume
  const wanted = { sizeGb, specs, encryption, zone: null, only: null, tried: [] }
  const choice = chooseVolumeCell([cell], wanted, clock.now())
  if (choice.chosen === undefined) throw unmovable(volume, `${choice.reason}.`)
  const full = await whyStillNoRoom(compute, cell, wanted)
  if (full !== undefined) throw unmovable(volume, `cell ${cell.name} ${full}.`)
}

/** Cells tell each second how much room they have: what was deleted just before takes none in what they tell by then. */
const TOLD_WITHIN_MS = 2_500
const POLL_MS = 100

async function whyStillNoRoom(
  { cells, clock }: Compute,
  cell: Cell,
  wanted: VolumeCellRequest,
): Promise<string | undefined> {
  for (let waitedMs = 0; ; waitedMs += POLL_MS) {
    const full = whyNoRoom(cells.cell(cell.id) ?? cell, wanted)
    if (full === undefined || waitedMs >= TOLD_WITHIN_MS) return full
    await clock.sleep(POLL_MS)
  }
}

async function begin(
  compute: Compute,
  context: RequestContext,
  move: { readonly volume: Volume; readonly to: OperatedCell; readonly reason: string | null },
  key: IdempotencyKey | null,
): Promise<OperationRecord> {
  const { volume, to, reason } = move
  const { id: volumeId, cellId: fromCellId } = volume
  if (fromCellId === null) throw unmovable(volume, 'it is in no cell.')
  const params = {
    ...newVolumeMove(volume),
    ...{ volumeId, fromCellId, toCellId: to.id, reason, userId: context.userId },
  }
  return beginVolumeMove(compute, context, { saga: moveVolumeSaga, params }, key)
}

/** What the saga that moves a volume needs besides the cells and the reason. */
export function newVolumeMove(
  volume: Volume,
): Pick<MoveVolumeParams, 'order' | 'uploadId' | 'createId'> {
  return { order: orderOf(volume), uploadId: newId<string>(), createId: newId<string>() }
}

/** The image in which the content of a volume goes: its project's, which has the content anyway. */
function orderOf({ id, name, projectId, sizeGb }: Volume): SnapshotOrder {
  return {
    ...{ imageId: newId<string>(), sourceId: id, purpose: 'volume-move', backupsKept: null },
    ...{ owner: projectId, name: `${name ?? id}-move`.slice(0, NAME_MAX), minDiskGb: sizeGb },
    ...{ minRamMb: 0, properties: {}, diskFormat: 'qcow2' },
  }
}

/** Of an image (Glance). */
const NAME_MAX = 255
