import { Failure } from '#common/errors.ts'
import type { ImageFile, InstanceSpec } from '../../driver.ts'
import type { ImageCache } from '../../image-cache.ts'
import type { LiveBoot } from '../netboot/live-boots.ts'

const ISO = 'iso'
/** Nova's name for arguments of a kernel. */
const COMMAND_LINE = 'os_command_line'
/** iPXE would take other characters for commands and settings of its own. */
const PLAIN = /^[\w ./:,=@+-]*$/

/** Content that is there until it is disposed. */
export interface LiveImage extends LiveBoot, AsyncDisposable {}

/** True for an image that machines run from as it is: a CD, or a kernel of its own. Their disks stay as they are. */
export function isLive({ image }: Pick<InstanceSpec, 'image'>): boolean {
  return image.kernel !== undefined || image.diskFormat === ISO
}

/** The image's files, verified. Throws `invalid` for settings that cannot be passed to a machine. */
export async function liveImage(
  images: ImageCache,
  { image, configDrive }: InstanceSpec,
  signal: AbortSignal,
): Promise<LiveImage> {
  const commandLine = image.properties[COMMAND_LINE] ?? ''
  if (!PLAIN.test(commandLine))
    throw new Failure('invalid', `Image ${image.id}: ${COMMAND_LINE} has characters not allowed.`)
  if (configDrive !== undefined)
    throw new Failure(
      'unsupported',
      'A machine that boots from a CD or a ramdisk has no config drive. Build the server without one.',
    )
  await using owned = new AsyncDisposableStack()
  const hold = async (file: ImageFile) => owned.use(await images.hold(file, signal)).path
  const { kernel, ramdisk } = image
  const files =
    kernel === undefined
      ? { iso: await hold(image) }
      : { kernel: await hold(kernel), ...(ramdisk && { ramdisk: await hold(ramdisk) }) }
  const held = owned.move()
  return { files, commandLine, [Symbol.asyncDispose]: () => held.disposeAsync() }
}
