import { Type } from 'typebox'
import { isFailure } from '#common/errors.ts'
import { errorFields } from '#common/log.ts'
import type { DiskImage } from '../../driver.ts'
import type { VolumeFormat, VolumeRef } from '../../volumes.ts'
import { Id } from '../cloud/id.ts'
import type { NestedHost } from '../host.ts'
import { awaitImage, imageDisk, removeImage } from '../image/image-disk.ts'
import { exportName } from '../names.ts'
import {
  type CloudVolume,
  getVolume,
  listAll,
  ShownSnapshot,
  ShownVolume,
  showOne,
  untilRest,
  workFailure,
} from './cloud-volume.ts'
import { removeSnapshot, removeVolume } from './remove.ts'

const Upload = Type.Object({ 'os-volume_upload_image': Type.Object({ image_id: Id }) })

const CLEAN_UP_MS = 120_000

/**
 * Has the cloud make an image of the volume, which is there until it has been read. Of a volume in use, which ordinary
 * users of a cloud cannot make an image of, a snapshot is taken, and the image is made of a copy of that.
 */
export async function exportVolume(
  host: NestedHost,
  ref: VolumeRef,
  format: VolumeFormat,
  signal: AbortSignal,
): Promise<DiskImage> {
  const volume = await getVolume(host, ref, signal)
  const name = exportName(host.owner, ref.id)
  // What a process left that ended meanwhile.
  await removeExports(host, name, signal)
  await host.images.removeNamed(name, signal)
  try {
    const source =
      volume.attachments.length === 0 ? volume : await copyOf(host, volume, name, signal)
    return await imageOf(host, source, { name, format }, signal)
  } finally {
    await removeExports(host, name, AbortSignal.timeout(CLEAN_UP_MS)).catch((error: unknown) => {
      host.logger?.warn(
        { ...errorFields(error), name },
        'a copy of a volume is left behind in the nested cloud',
      )
    })
  }
}

async function imageOf(
  host: NestedHost,
  volume: CloudVolume,
  { name, format }: { readonly name: string; readonly format: VolumeFormat },
  signal: AbortSignal,
): Promise<DiskImage> {
  const body = {
    'os-volume_upload_image': { image_name: name, disk_format: format, container_format: 'bare' },
  }
  const path = `/volumes/${volume.id}/action`
  const { body: made } = await host.cloud.ask(Upload, 'volume', 'POST', path, { body, signal })
  const imageId = made['os-volume_upload_image'].image_id
  try {
    const image = await awaitImage(host, imageId, ['queued', 'saving', 'uploading'], signal)
    const shown = await showOne(host.cloud, 'volumes', volume.id, signal)
    if (shown !== undefined) await untilRest(host, 'volumes', shown, signal)
    return imageDisk(host, image)
  } catch (error) {
    await removeImage(host, imageId)
    // Cinder takes an image away whose content it could not send.
    throw isFailure(error, 'not-found')
      ? await workFailure(host, 'make an image of the volume', volume, signal)
      : error
  }
}

/** A new volume with the content of one moment. */
async function copyOf(
  host: NestedHost,
  { id, size }: CloudVolume,
  name: string,
  signal: AbortSignal,
): Promise<CloudVolume> {
  const { cloud } = host
  const snapshot = { volume_id: id, name, force: true }
  const asked = await cloud.ask(ShownSnapshot, 'volume', 'POST', '/snapshots', {
    ...{ body: { snapshot }, signal },
  })
  const kept = await untilRest(host, 'snapshots', asked.body.snapshot, signal)
  if (kept?.status !== 'available')
    throw await workFailure(host, 'make a snapshot', kept ?? asked.body.snapshot, signal)
  const volume = { name, size, snapshot_id: kept.id }
  const made = await cloud.ask(ShownVolume, 'volume', 'POST', '/volumes', {
    ...{ body: { volume }, signal },
  })
  const copy = await untilRest(host, 'volumes', made.body.volume, signal)
  if (copy?.status === 'available') return copy
  throw await workFailure(host, 'copy the volume', copy ?? made.body.volume, signal)
}

/** Afterwards the project below has no volume and no snapshot of this name. */
async function removeExports(host: NestedHost, name: string, signal: AbortSignal): Promise<void> {
  for (const volume of await listAll(host.cloud, 'volumes', { name }, signal))
    await removeVolume(host, volume, signal)
  for (const snapshot of await listAll(host.cloud, 'snapshots', { name }, signal))
    await removeSnapshot(host, snapshot, signal)
}
