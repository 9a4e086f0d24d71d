import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { Failure, isFailure } from '#common/errors.ts'
import { writeConfigDrive } from '../config-drive.ts'
import type { InstanceSpec } from '../driver.ts'
import { machineConfigDrive } from '../machine-config-drive.ts'
import type { MachineNicMap } from '../machine-nics.ts'
import { attachVifs } from './attach-vifs.ts'
import type { IronicImage } from './deployable.ts'
import { settledNode } from './held-node.ts'
import type { IronicHost } from './host.ts'
import type { IronicNode } from './ironic-node.ts'

const GIB = 1024 ** 3
const DRIVE = 'openstack/latest/'
const CONTENT = 'openstack/content/'

/**
 * Afterwards ironic has given the image to the node, which is `active`. Throws `internal` when it could not, or has not within
 * the time it may take.
 */
export async function deploy(
  host: IronicHost,
  { uuid }: IronicNode,
  spec: InstanceSpec,
  { target, image }: { readonly target: 'active' | 'rebuild'; readonly image: IronicImage },
  signal: AbortSignal,
): Promise<IronicNode> {
  const ports = spec.nics.map(({ portId }) => portId)
  const drive = await configDrive(spec, await attachVifs(host, uuid, ports, signal), signal)
  using served = new DisposableStack()
  const serve = (path: string) => served.use(host.imageServer.serve(path)).url
  const info = { ...instanceInfo(spec, image, serve), display_name: spec.displayName }
  await host.client.patch(uuid, [{ op: 'add', path: '/instance_info', value: info }], signal)
  await host.client.provision(uuid, { target, ...drive }, signal)
  const deadline = performance.now() + host.deployMs
  const node = await settledNode(host, uuid, signal).catch((error: unknown) => {
    if (!isFailure(error, 'unavailable') || performance.now() < deadline) throw error
    // The node is known not to be deployed; waiting for more would have no end.
    throw new Failure('internal', error.message, { cause: error })
  })
  if (node.provision_state === 'active') return node
  const why = node.last_error ?? `it is ${node.provision_state}`
  throw new Failure('internal', `Ironic could not deploy the machine: ${why}`)
}

/** The image in the form that ironic takes. */
function instanceInfo(
  { flavor, image: { sha256 } }: InstanceSpec,
  image: IronicImage,
  serve: (path: string) => string,
): Readonly<Record<string, string>> {
  if (image.kind === 'live') {
    const files = Object.entries(image.files).map(([name, path]) => [name, serve(path)] as const)
    const { commandLine } = image
    return {
      ...Object.fromEntries(files),
      ...(commandLine === '' ? {} : { kernel_append_params: commandLine }),
    }
  }
  return {
    image_source: serve(image.path),
    image_type: 'whole-disk-image',
    image_disk_format: image.format,
    image_os_hash_algo: 'sha256',
    image_os_hash_value: sha256,
    // Ironic knows an image that it fetches itself by its checksum alone.
    image_checksum: sha256,
    root_gb: String(Math.max(flavor.rootGb, Math.ceil(image.sizeBytes / GIB))),
  }
}

/** Ironic makes the drive itself, of the documents it is made of; one with more on it than these is made here. */
async function configDrive(
  spec: InstanceSpec,
  given: MachineNicMap,
  signal: AbortSignal,
): Promise<{ readonly configdrive?: object | string }> {
  if (spec.configDrive === undefined) return {}
  const files = machineConfigDrive(spec, given)
  if (Object.keys(files).some((path) => path.startsWith(CONTENT)))
    return { configdrive: await packedDrive(files, signal) }
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

/** An image as ironic takes it whole: compressed with gzip, and in base64. */
async function packedDrive(
  files: Readonly<Record<string, Uint8Array>>,
  signal: AbortSignal,
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'config-drive-'))
  try {
    const path = join(folder, 'config.iso')
    await writeConfigDrive(path, files, signal)
    return (await promisify(gzip)(await readFile(path))).toString('base64')
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
