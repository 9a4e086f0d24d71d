import { Failure } from '#common/errors.ts'
import { lockVolume, writeLockedVolume } from '../../db/volumes.ts'
import type { ComputeDeps } from '../compute.ts'
import type { RequestContext } from '../request-context.ts'
import { showVolume } from './volumes.ts'

/**
 * Afterwards servers that the volume is attached to cannot write to it, or can. Throws `not-found`, and `invalid` (with
 * Cinder's sentence) for a volume that is not available: a server that has it would keep what it has.
 */
export async function updateReadOnly(
  { db }: Pick<ComputeDeps, 'db'>,
  context: RequestContext,
  id: string,
  isReadOnly: boolean,
): Promise<void> {
  const { id: volumeId } = await showVolume({ db }, context, id)
  await db.transaction(async (tx) => {
    const volume = await lockVolume(tx, volumeId)
    if (volume === undefined) throw new Failure('not-found', `Volume ${id} could not be found.`)
    const { status, isDeleting, sagaId } = volume
    if (status !== 'available' || isDeleting || sagaId !== null)
      throw new Failure(
        'invalid',
        `Invalid volume: Volume ${id} status must be available to update readonly flag, but current status is: ${status}.`,
      )
    await writeLockedVolume(tx, volumeId, { isReadOnly }, { isIntent: false })
  })
}
