import { setTimeout as sleep } from 'node:timers/promises'
import { Failure, isFailure } from '#common/errors.ts'
import type { DiskImage } from '../../driver.ts'
import type { NestedHost } from '../host.ts'
import type { CloudImage } from './cloud-images.ts'

const REMOVE_MS = 30_000
const FORMATS = ['qcow2', 'raw', 'docker'] as const

/** The image once it has its content, which is on its way while the status is one of these. */
export async function awaitImage(
  { images, settings }: NestedHost,
  id: string,
  underWay: readonly string[],
  signal: AbortSignal,
): Promise<CloudImage> {
  for (;;) {
    const image = await images.show(id, signal)
    if (image.status === 'active') return image
    if (!underWay.includes(image.status))
      throw new Failure('internal', 'The nested cloud could not make the image.', {
        detail: `it is ${image.status}`,
      })
    await sleep(settings.pollMs, undefined, { signal }).catch(() => signal.throwIfAborted())
  }
}

/** The image's content, with which the image goes. */
export function imageDisk(host: NestedHost, { id, disk_format, size }: CloudImage): DiskImage {
  const diskFormat = FORMATS.find((format) => format === disk_format)
  if (diskFormat === undefined)
    throw new Failure('unsupported', `The nested cloud makes images of format ${disk_format}.`)
  if (typeof size !== 'number')
    throw new Failure('unavailable', 'The nested cloud does not say how large the image is.')
  const reading = new AbortController()
  return {
    diskFormat,
    sizeBytes: size,
    async *content() {
      yield* await host.cloud.open('image', `/images/${id}/file`, { signal: reading.signal })
    },
    async [Symbol.asyncDispose]() {
      reading.abort(new Failure('unavailable', 'The reader of the image has gone.'))
      await removeImage(host, id)
    },
  }
}

/** The caller's signal may have ended its work, so this has a limit of its own. */
export async function removeImage(
  { images, logger, settings }: NestedHost,
  id: string,
): Promise<void> {
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
    logger?.warn({ image: id }, 'an image is left behind in the nested cloud')
  })
}
