import { setTimeout as sleep } from 'node:timers/promises'
import { Type } from 'typebox'
import { Failure, isFailure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import type { DiskImage, Snapshot } from '../driver.ts'
import { Id } from './cloud/id.ts'
import { isBusy } from './compute/cloud-server.ts'
import { idleServer } from './compute/find-server.ts'
import type { NestedHost } from './host.ts'
import type { CloudImage } from './image/cloud-images.ts'
import { snapshotName } from './names.ts'

const REMOVE_MS = 30_000
const FORMATS = ['qcow2', 'raw', 'docker'] as const
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
    return diskImage(host, await whole(host, imageId, signal))
  } catch (error) {
    await remove(host, imageId)
    throw error
  }
}

/** Of a server that is stable: an image that is still empty by then will stay empty. */
async function whole(
  { images, settings }: NestedHost,
  id: string,
  signal: AbortSignal,
): Promise<CloudImage> {
  for (;;) {
    const image = await images.show(id, signal)
    if (image.status === 'active') return image
    if (image.status !== 'saving')
      throw new Failure('internal', 'The nested cloud could not make the snapshot.', {
        detail: `its image is ${image.status}`,
      })
    await sleep(settings.pollMs, undefined, { signal }).catch(() => signal.throwIfAborted())
  }
}

function diskImage(host: NestedHost, { id, disk_format, size }: CloudImage): DiskImage {
  const diskFormat = FORMATS.find((format) => format === disk_format)
  if (diskFormat === undefined)
    throw new Failure('unsupported', `The nested cloud creates snapshots of format ${disk_format}.`)
  if (typeof size !== 'number')
    throw new Failure('unavailable', 'The nested cloud does not say how large the snapshot is.')
  const reading = new AbortController()
  return {
    diskFormat,
    sizeBytes: size,
    async *content() {
      yield* await host.cloud.open('image', `/images/${id}/file`, { signal: reading.signal })
    },
    async [Symbol.asyncDispose]() {
      reading.abort(new Failure('unavailable', 'The reader of the snapshot has gone.'))
      await remove(host, id)
    },
  }
}

/** The caller's signal may have ended the snapshot, so this has a limit of its own. */
async function remove({ images, logger, settings }: NestedHost, id: string): Promise<void> {
  const signal = AbortSignal.timeout(REMOVE_MS)
  const removed = async (): Promise<void> => {
    try {
      await images.remove(id, signal)
    } catch (error) {
      if (!isFailure(error)) throw error
      await sleep(settings.pollMs, undefined, { signal }).catch(() => signal.throwIfAborted())
      return removed()
    }
  }
  await removed().catch(() => {
    logger?.warn({ image: id }, 'a snapshot is left behind in the nested cloud')
  })
}
