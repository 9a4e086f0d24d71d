import { Failure, isFailure } from '#common/errors.ts'
import type { Compute } from '../compute.ts'
import { moveVolumeToStore } from '../operations/move-to-store.ts'
import type { RequestContext } from '../request-context.ts'
import { showVolume } from './volumes.ts'

/**
 * Afterwards the volume is on its way to a store of its cell, named as Cinder names a host: CELL@STORE. Throws `not-found`, `invalid`
 * with Cinder's reasons, for another cell and for a store that cannot have it, and `unavailable` while its cell is unreachable.
 */
export async function migrateVolume(
  compute: Compute,
  context: RequestContext,
  id: string,
  host: string,
): Promise<void> {
  const volume = await showVolume(compute, context, id)
  const at = host.indexOf('@')
  const [cellName, store] = [host.slice(0, Math.max(at, 0)), host.slice(at + 1)]
  if (cellName === '' || store === '')
    throw new Failure(
      'invalid',
      `Invalid input received: The host ${host} is not like CELL@STORE, as GET /scheduler-stats/get_pools lists them.`,
    )
  const cell = volume.cellId === null ? undefined : compute.cells.cell(volume.cellId)
  if (cell !== undefined && cell.name !== cellName)
    throw new Failure(
      'invalid',
      `Invalid input received: Volume ${id} is in cell ${cell.name}, and ${host} is not. Move it to another cell by: ./weir volume move ${id} --cell ${cellName}`,
    )
  try {
    await moveVolumeToStore(compute, context, volume.id, { store, reason: null })
  } catch (error) {
    if (!isFailure(error, 'conflict')) throw error
    // Cinder's sentence (cinder/volume/api.py), which names every reason, and then the one that it is.
    throw new Failure(
      'invalid',
      `Invalid volume: Volume ${id} status must be available, must not be migrating, have snapshots, be replicated, be part of a group and destination host/cluster must be different than the current one. ${error.message}`,
      { cause: error },
    )
  }
}
