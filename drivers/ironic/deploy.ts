import { Failure } from '#common/errors.ts'
import type { ImageSpec, InstanceSpec } from '../driver.ts'
import type { HeldImage } from '../image-cache.ts'
import { IMAGE_FORMATS, type ImageFormat, imageVirtualSize } from '../image-header.ts'
import type { MachineNicMap } from '../machine-nics.ts'
import { toldOfMachine } from '../told-network.ts'
import { attachVifs } from './attach-vifs.ts'
import { settledNode } from './held-node.ts'
import type { IronicHost } from './host.ts'
import type { IronicNode } from './ironic-node.ts'

export interface IronicImage extends HeldImage {
  readonly format: ImageFormat
  readonly sizeBytes: number
}

const GIB = 1024 ** 3
const DRIVE = 'openstack/latest/'

/** The image's file, verified, and kept until it is disposed. Throws `invalid` when it is not what it was declared to be. */
export async function deployable(
  { images }: IronicHost,
  image: ImageSpec,
  signal: AbortSignal,
): Promise<IronicImage> {
  const format = IMAGE_FORMATS.find((known) => known === image.diskFormat)
  if (format === undefined)
    throw new Failure(
      'invalid',
      `Image ${image.id} has disk format ${image.diskFormat}; machines boot ${IMAGE_FORMATS.join(' and ')}.`,
    )
  await using owned = new AsyncDisposableStack()
  const { path } = owned.use(await images.hold(image, signal))
  const sizeBytes = await imageVirtualSize(path, format)
  const held = owned.move()
  return { path, format, sizeBytes, [Symbol.asyncDispose]: () => held.disposeAsync() }
}

/** Afterwards ironic has written the image to the node, which is `active`. Throws `internal` when it could not. */
export async function deploy(
  host: IronicHost,
  { uuid }: IronicNode,
  spec: InstanceSpec,
  { target, image }: { readonly target: 'active' | 'rebuild'; readonly image: IronicImage },
  signal: AbortSignal,
): Promise<IronicNode> {
  const ports = spec.nics.map(({ portId }) => portId)
  const drive = configDrive(spec, await attachVifs(host, uuid, ports, signal))
  using served = host.imageServer.serve(image.path)
  const info = {
    image_source: served.url,
    image_type: 'whole-disk-image',
    image_disk_format: image.format,
    image_os_hash_algo: 'sha256',
    image_os_hash_value: spec.image.sha256,
    // Ironic knows an image that it fetches itself by its checksum alone.
    image_checksum: spec.image.sha256,
    root_gb: String(Math.max(spec.flavor.rootGb, Math.ceil(image.sizeBytes / GIB))),
    display_name: spec.displayName,
  }
  await host.client.patch(uuid, [{ op: 'add', path: '/instance_info', value: info }], signal)
  await host.client.provision(uuid, { target, ...drive }, signal)
  const node = await settledNode(host, uuid, signal)
  if (node.provision_state === 'active') return node
  throw new Failure('internal', 'Ironic could not deploy the machine.', {
    detail: `node ${uuid} is ${node.provision_state}: ${node.last_error ?? 'no error'}`,
  })
}

/** Ironic makes the drive itself, of the documents it is made of. */
function configDrive(spec: InstanceSpec, given: MachineNicMap): { readonly configdrive?: object } {
  if (spec.configDrive === undefined) return {}
  const files = toldOfMachine(spec, given)
  const json = (name: string): unknown => {
    const file = files[`${DRIVE}${name}.json`]
    return file === undefined ? {} : JSON.parse(Buffer.from(file).toString('utf8'))
  }
  const userData = files[`${DRIVE}user_data`]
  return {
    configdrive: {
      meta_data: json('meta_data'),
      network_data: json('network_data'),
      ...(userData === undefined ? {} : { user_data: Buffer.from(userData).toString('utf8') }),
    },
  }
}
