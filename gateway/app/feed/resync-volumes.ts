import { workContext } from '#common/context.ts'
import { Failure, isFailure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import type { VolumeView } from '#openapi/wire/cell-volume.ts'
import type { CellRef } from '../../cell-client/client.ts'
import { findVolume, lockVolume, volumesInCell } from '../../db/volumes.ts'
import type { ComputeDeps } from '../compute.ts'
import { applyVolumeView, recordVolumeGone } from '../volumes/apply-view.ts'
import type { Volume } from '../volumes/volume.ts'

/** Five hundred thousand volumes in one cell. */
const PAGES_MAX = 1_000
const ROWS = 500

export interface VolumeCopy {
  readonly incarnation: string
  /** True: another database has replaced the cell's, so versions may be lower than before. */
  readonly isReplaced: boolean
}

/**
 * Compares the volumes that the gateways know in a cell with those that it has. Afterwards they are shown as there;
 * those that the cell no longer has are gone, or in error, and those that it should not have are being deleted.
 */
export async function resyncVolumes(
  deps: ComputeDeps,
  cell: CellRef,
  copy: VolumeCopy,
): Promise<void> {
  // Read first: a volume that the cell accepts meanwhile is not taken for one that it has lost.
  const known = await knownVolumes(deps, cell)
  const views = await readViews(deps, cell, copy)
  for (const view of views) await applyCopy(deps, cell, view, copy)
  const had = new Set(views.map(({ volumeId }) => volumeId))
  for (const volume of known) if (!had.has(volume.id)) await recordMissing(deps, cell, volume)
}

/** Those of which the cell has said something. */
async function knownVolumes({ db }: ComputeDeps, { id }: CellRef): Promise<readonly Volume[]> {
  const all: Volume[] = []
  for (;;) {
    const page = await volumesInCell(db, id, all.at(-1)?.id ?? '', ROWS)
    all.push(...page)
    if (page.length < ROWS) return all.filter(({ cellVersion }) => cellVersion > 0)
  }
}

/** Empty for a cell whose release has no volumes. */
async function readViews(
  deps: ComputeDeps,
  cell: CellRef,
  { incarnation }: VolumeCopy,
): Promise<readonly VolumeView[]> {
  const views: VolumeView[] = []
  try {
    for (let pages = 0; pages < PAGES_MAX; pages += 1) {
      const ask = { afterVolume: views.at(-1)?.volumeId ?? null }
      const page = await deps.askCell(cell, 'snapshot.volumes', ask, { work: workContext({}) })
      if (page.incarnation !== incarnation)
        throw new Failure('unavailable', `Cell ${cell.name} changed its database meanwhile.`)
      views.push(...page.volumes)
      if (page.isLast) return views
    }
  } catch (error) {
    if (isFailure(error, 'unsupported')) return []
    throw error
  }
  throw new Failure('unavailable', `Cell ${cell.name} has more volumes than a copy can have.`)
}

async function applyCopy(
  deps: ComputeDeps,
  cell: CellRef,
  view: VolumeView,
  { isReplaced }: VolumeCopy,
): Promise<void> {
  const { volumeId, attempt } = view
  const volume = await findVolume(deps.db, volumeId)
  if (volume?.cellId === cell.id && volume.attempt === attempt) {
    if (!isReplaced && view.version <= volume.cellVersion) return
    await deps.db.transaction(async (tx) => {
      const now = await lockVolume(tx, volumeId)
      if (now === undefined) return
      const seen = isReplaced ? { ...now, cellVersion: 0 } : now
      await applyVolumeView(tx, cell.id, seen, view)
    })
    return
  }
  // The cell has not heard that the volume was assigned to it again, or the database here is older than the volume.
  if (volume?.cellId === cell.id && volume.attempt > attempt && volume.sagaId !== null) return
  const operation = { id: newId<string>(), volumeId, attempt }
  await deps.askCell(cell, 'volume.delete', { operation }, { work: workContext({}) })
  deps.log.warn(
    { cell: cell.name, volume_id: volumeId, attempt },
    'ended a volume that the cell should not have',
  )
}

async function recordMissing(deps: ComputeDeps, cell: CellRef, seen: Volume): Promise<void> {
  await deps.db.transaction(async (tx) => {
    const now = await lockVolume(tx, seen.id)
    if (now !== undefined) await recordVolumeGone(tx, cell.id, now, seen.attempt)
  })
  deps.log.warn({ cell: cell.name, volume_id: seen.id }, 'the cell does not have the volume')
}
