import type { Readable } from 'node:stream'
import { pack } from 'tar-stream'
import { Failure } from '#common/errors.ts'
import { errorFields } from '#common/log.ts'
import type { InstanceSpec } from '../../driver.ts'
import type { Engine } from '../engine/engine.ts'
import type { DockerHost } from '../host.ts'
import type { EngineImage } from '../images/engine-images.ts'
import { labelsOf, newVolumeName } from '../names.ts'
import { CONFIG_PATH, type ContainerPlan, containerBody } from './container-body.ts'

export interface NewContainer {
  readonly name: string
  readonly spec: InstanceSpec
  readonly image: EngineImage
  /** The volume for its ephemeral disk; without one it gets a new volume if its flavor has such a disk. */
  readonly ephemeralVolume?: string | undefined
}

/** Afterwards the container is there with everything it needs, and was never started. */
export async function createContainer(
  host: DockerHost,
  { name, spec, image, ephemeralVolume }: NewContainer,
  signal: AbortSignal,
): Promise<void> {
  const { configDrive, flavor, id, nics } = spec
  const [first, ...others] = nics
  await host.diskSizes.write(id, flavor)
  const plan = {
    name,
    spec,
    owner: host.owner,
    imageId: image.Id,
    command: commandOf(spec, image),
    configVolume: configDrive && (await createVolume(host, id, 'config', signal)),
    ephemeralVolume:
      flavor.ephemeralGb === 0
        ? undefined
        : (ephemeralVolume ?? (await createVolume(host, id, 'ephemeral', signal))),
    limitsDisk: host.limitsDisk,
    declaredVolumes: Object.keys(image.Config?.Volumes ?? {}),
  }
  const create = (network: ContainerPlan['network']) =>
    postContainer(host, { ...plan, network }, signal)
  if (first === undefined) await create(undefined)
  else
    await host.networks.use(first, signal, (network) =>
      create({ name: network, endpoint: host.networks.endpoint(first, true) }),
    )
  for (const nic of others) {
    await host.networks.use(nic, signal, async (network) => {
      const body = { Container: name, EndpointConfig: host.networks.endpoint(nic, false) }
      await host.engine.call('POST', `/networks/${network}/connect`, { body, signal })
    })
  }
  if (configDrive !== undefined) await fillConfigVolume(host.engine, name, configDrive, signal)
}

async function createVolume(
  { engine, owner }: DockerHost,
  id: InstanceSpec['id'],
  purpose: string,
  signal: AbortSignal,
): Promise<string> {
  const Name = newVolumeName(id, purpose)
  await engine.call('POST', '/volumes/create', {
    body: { Name, Labels: labelsOf(owner, id) },
    signal,
  })
  return Name
}

/**
 * Where the engine limits the disk of a guest it does not limit the volumes that the guest's image declares. Whether
 * the engine limits it is known only once it has made the container; the caller then removes the container, and the
 * volumes with it.
 */
export function refuseUnlimited({
  spec,
  limitsDisk,
  declaredVolumes,
}: Pick<ContainerPlan, 'spec' | 'limitsDisk' | 'declaredVolumes'>): void {
  if (!limitsDisk || spec.flavor.rootGb === 0 || declaredVolumes.length === 0) return
  throw new Failure(
    'invalid',
    `Image ${spec.image.id} declares volumes (${declaredVolumes.join(', ')}), which the disk of the flavor would not limit. Build it without VOLUME.`,
  )
}

/** Whether storage can limit a disk depends on driver and mount options, so it is found by asking. */
async function postContainer(
  host: DockerHost,
  plan: ContainerPlan & { readonly name: string },
  signal: AbortSignal,
): Promise<void> {
  const query = { name: plan.name }
  try {
    const body = containerBody(plan)
    await host.engine.call('POST', '/containers/create', { query, body, signal })
    refuseUnlimited(plan)
  } catch (error) {
    const isUnable = error instanceof Failure && /storage-opt/.test(error.detail ?? '')
    if (!plan.limitsDisk || !isUnable) throw error
    host.limitsDisk = false
    host.logger?.warn(errorFields(error), 'the disks of guests are not limited by this engine')
    await postContainer(host, { ...plan, limitsDisk: false }, signal)
  }
}

/** An image property: what the guest runs instead of what the image says, as a JSON list of words. */
const COMMAND = 'docker_command'
/** What runs in a root file system that says nothing of its own. */
const DEFAULT_COMMAND = ['/sbin/init']

/** The command of a guest; undefined for the image's own. Throws `invalid` for a property that is not a list of words. */
function commandOf(spec: InstanceSpec, image: EngineImage): readonly string[] | undefined {
  const asked = spec.image.properties[COMMAND]
  if (asked !== undefined) return words(asked, spec)
  const hasOwn = (image.Config?.Cmd ?? []).length > 0 || (image.Config?.Entrypoint ?? []).length > 0
  return hasOwn ? undefined : DEFAULT_COMMAND
}

function words(text: string, { image }: InstanceSpec): readonly string[] {
  try {
    const value: unknown = JSON.parse(text)
    if (Array.isArray(value) && value.length > 0 && value.every((w) => typeof w === 'string'))
      return value
  } catch {
    // Refused below, like every other value that is not a list of words.
  }
  throw new Failure(
    'invalid',
    `Property ${COMMAND} of image ${image.id} must be a JSON list of words, such as ["/bin/sh"].`,
  )
}

/** Only the guest's administrator reads its user data. */
const SECRET_MODE = 0o600

/** Afterwards the config drive lies in the volume that the container mounts for it. */
async function fillConfigVolume(
  engine: Engine,
  container: string,
  files: Readonly<Record<string, Uint8Array>>,
  signal: AbortSignal,
): Promise<void> {
  const archive = pack()
  for (const [name, content] of Object.entries(files))
    archive.entry({ name, mode: SECRET_MODE }, Buffer.from(content))
  archive.finalize()
  await engine.call('PUT', `/containers/${container}/archive`, {
    query: { path: CONFIG_PATH },
    archive: archive as unknown as Readable,
    signal,
  })
}
