import { Type } from 'typebox'
import type { InstanceId } from '#common/ids.ts'
import type { DiskImage } from '../driver.ts'
import type { Snapshot } from '../snapshot.ts'
import { Id } from './cloud/id.ts'
import { isBusy, refuseVolumeBacked } from './compute/cloud-server.ts'
import { idleServer } from './compute/find-server.ts'
import type { NestedHost } from './host.ts'
import { awaitImage, imageDisk, removeImage } from './image/image-disk.ts'
import { snapshotName } from './names.ts'

/** Since then the answer names the image. */
const NAMED_SINCE = '2.45'

const NamedImage = Type.Object({ image_id: Id })

/** Has the cloud make an image of the server, which is there until it has been read. */
export function nestedSnapshot(host: NestedHost): Snapshot {
  return {
    take: (id, signal) =>
      host.locks.runPreemptible(id, signal, (lockSignal) => take(host, id, lockSignal)),
  }
}

async function take(host: NestedHost, id: InstanceId, signal: AbortSignal): Promise<DiskImage> {
  const { cloud, images, versions } = host
  const server = await idleServer(host, id, signal)
  refuseVolumeBacked(server, id)
  const name = snapshotName(host.owner, id)
  await images.removeNamed(name, signal)
  const { body } = await cloud.ask(NamedImage, 'compute', 'POST', `/servers/${server.id}/action`, {
    body: { createImage: { name } },
    microversion: await versions.need(NAMED_SINCE, 'a snapshot', signal),
    signal,
  })
  const imageId = body.image_id
  try {
    await host.view.until(server.id, (seen) => !isBusy(seen), signal)
    // Of a server that is stable: an image that is still empty by then will stay empty.
    return imageDisk(host, await awaitImage(host, imageId, ['saving'], signal))
  } catch (error) {
    await removeImage(host, imageId)
    throw error
  }
}
