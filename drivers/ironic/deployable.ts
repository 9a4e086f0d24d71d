import { Failure } from '#common/errors.ts'
import type { ImageFile, ImageSpec, InstanceSpec } from '../driver.ts'
import { IMAGE_FORMATS, type ImageFormat, imageVirtualSize } from '../image-header.ts'
import type { IronicHost } from './host.ts'
import type { IronicNode } from './ironic-node.ts'

/**
 * The image in the form that a node gets: the content of its disk, or the files that it boots without a disk. Exists
 * until it is disposed.
 */
export type IronicImage = AsyncDisposable & (DiskImage | LiveImage)

interface DiskImage {
  readonly kind: 'disk'
  readonly path: string
  readonly format: ImageFormat
  readonly sizeBytes: number
}

/** Paths by the names that they have in a node's `instance_info`. */
interface LiveImage {
  readonly kind: 'live'
  readonly files: Readonly<Record<string, string>>
  readonly commandLine: string
}

export const ISO = 'iso'
/** Nova's name for arguments of a kernel. */
const COMMAND_LINE = 'os_command_line'
/** A boot loader would take other characters for commands and settings of its own. */
const PLAIN = /^[\w ./:,=@+-]*$/

/**
 * The image's files, verified. Throws `invalid` when they differ from their declaration, and `unsupported` when a guest
 * that boots them could not get its config drive.
 */
export async function deployable(
  host: IronicHost,
  spec: Pick<InstanceSpec, 'image' | 'configDrive'>,
  signal: AbortSignal,
): Promise<IronicImage> {
  await using owned = new AsyncDisposableStack()
  const hold = async (file: ImageFile) => owned.use(await host.images.hold(file, signal)).path
  const image = isLive(spec.image) ? await liveImage(spec, hold) : await diskImage(spec.image, hold)
  const held = owned.move()
  return { ...image, [Symbol.asyncDispose]: () => held.disposeAsync() }
}

/** True if ironic can deploy the image to such a node: only some nodes boot without a disk. */
export function fits(
  { deploy_interface: by }: IronicNode,
  image: Pick<IronicImage, 'kind'>,
): boolean {
  return (by === 'ramdisk') === (image.kind === 'live')
}

/** Throws `invalid` for a node that ironic cannot give the image. */
export function refuseUnfit(node: IronicNode, { id }: ImageSpec, image: IronicImage): void {
  if (fits(node, image)) return
  const why =
    image.kind === 'live'
      ? 'is booted from the network, and nodes of this class are not deployed so: their deploy interface is not ramdisk'
      : 'is for a disk, and nodes of this class boot from the network: their deploy interface is ramdisk'
  throw new Failure('invalid', `Image ${id} ${why}.`)
}

function isLive({ kernel, diskFormat }: ImageSpec): boolean {
  return kernel !== undefined || diskFormat === ISO
}

type Hold = (file: ImageFile) => Promise<string>

async function diskImage(image: ImageSpec, hold: Hold): Promise<DiskImage> {
  const format = IMAGE_FORMATS.find((known) => known === image.diskFormat)
  if (format === undefined)
    throw new Failure(
      'invalid',
      `Image ${image.id} has disk format ${image.diskFormat}; machines boot ${IMAGE_FORMATS.join(' and ')}.`,
    )
  const path = await hold(image)
  return { kind: 'disk', path, format, sizeBytes: await imageVirtualSize(path, format) }
}

async function liveImage(
  { image, configDrive }: Pick<InstanceSpec, 'image' | 'configDrive'>,
  hold: Hold,
): Promise<LiveImage> {
  const { kernel, ramdisk } = image
  const commandLine = image.properties[COMMAND_LINE] ?? ''
  if (!PLAIN.test(commandLine))
    throw new Failure('invalid', `Image ${image.id}: ${COMMAND_LINE} has characters not allowed.`)
  if (configDrive !== undefined)
    throw new Failure(
      'unsupported',
      'A machine that boots from a CD or a ramdisk has no config drive. Build the server without one.',
    )
  if (kernel === undefined)
    return { kind: 'live', files: { boot_iso: await hold(image) }, commandLine }
  if (ramdisk === undefined)
    throw new Failure(
      'invalid',
      `Image ${image.id} has no ramdisk, and ironic boots no kernel without one.`,
    )
  const files = { kernel: await hold(kernel), ramdisk: await hold(ramdisk) }
  return { kind: 'live', files, commandLine }
}
