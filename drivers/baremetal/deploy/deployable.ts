import type { InstanceSpec } from '../../driver.ts'
import type { ImageCache } from '../../image-cache.ts'
import type { LiveBoot } from '../netboot/live-boots.ts'
import type { DiskContent } from '../netboot/tasks.ts'
import { isLive, liveImage } from './live-image.ts'
import { partitionTable } from './partitions/partition-table.ts'
import { rootImage } from './root-image.ts'

/**
 * The image in the form that a machine gets: the content of its disk, or the files that it boots without a disk. Exists
 * until it is disposed.
 */
export type Deployable = AsyncDisposable &
  (
    | { readonly disk: DiskContent; readonly live?: undefined }
    | { readonly live: LiveBoot; readonly disk?: undefined }
  )

/**
 * The spec's image, verified. Throws `invalid` when no machine can boot it, or it cannot read a config drive that the
 * spec has.
 */
export async function deployable(
  images: ImageCache,
  spec: InstanceSpec,
  signal: AbortSignal,
): Promise<Deployable> {
  if (isLive(spec)) {
    const live = await liveImage(images, spec, signal)
    return { live, [Symbol.asyncDispose]: () => live[Symbol.asyncDispose]() }
  }
  await using owned = new AsyncDisposableStack()
  const disk = owned.use(await rootImage(images, spec.image, signal))
  if (spec.configDrive !== undefined) await partitionTable(disk.path)
  const held = owned.move()
  return { disk, [Symbol.asyncDispose]: () => held.disposeAsync() }
}
