import { isFailure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import type { BackupChanges } from '#drivers/backup-changes.ts'
import type { ImageTarget } from '../../images/image-client.ts'
import type { Compute } from '../compute.ts'
import { saveDisk } from './save-disk.ts'

const CLEAN_UP_MS = 10_000

type Target = Pick<ImageTarget, 'imageId' | 'ticket'>
type Deps = Pick<Compute, 'images' | 'log'> & { readonly changes: BackupChanges }

/**
 * Afterwards the image holds the guest's root disk, as it was at one moment. A host that can notes what is written from that
 * moment on, and sends only what was written since the backup `since`, where it knows that and the image service can make the
 * image of it. Nothing is noted where the image had its content before: a repeat that has lost the first answer would note
 * from a later moment on.
 */
export async function saveBackup(
  compute: Compute,
  id: InstanceId,
  target: Target,
  since: string | null,
  signal: AbortSignal,
): Promise<void> {
  const changes = compute.driver.backupChanges
  if (changes === undefined) return saveDisk(compute, id, target, signal)
  const { images, log } = compute
  let isFilled: boolean
  try {
    isFilled = await send({ images, log, changes }, id, target, since, signal)
  } catch (error) {
    // The next backup is a whole one, and forgets it otherwise.
    await changes.keep(id, null, AbortSignal.timeout(CLEAN_UP_MS)).catch(() => undefined)
    throw error
  }
  await changes.keep(id, isFilled ? target.imageId : null, signal)
}

async function send(
  { images, log, changes }: Deps,
  id: InstanceId,
  target: Target,
  since: string | null,
  signal: AbortSignal,
): Promise<boolean> {
  const name = target.imageId
  {
    const { disk, isWhole } = await changes.take(id, { name, since }, signal)
    await using _given = disk
    if (isWhole || since === null) return images.fill(target, disk, signal)
    try {
      return await images.fill({ ...target, changesOf: since }, disk, signal)
    } catch (error) {
      // Such as where the backup before was deleted.
      if (!isFailure(error, 'invalid')) throw error
      log.info(
        { server_id: id, detail: error.detail },
        'the changes are refused, the whole disk is sent',
      )
    }
  }
  await using disk = (await changes.take(id, { name, since: null }, signal)).disk
  return images.fill(target, disk, signal)
}
