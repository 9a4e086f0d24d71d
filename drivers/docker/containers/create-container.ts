import { Failure } from '#common/errors.ts'
import { errorFields } from '#common/log.ts'
import type { InstanceSpec } from '../../driver.ts'
import type { DockerHost } from '../host.ts'
import type { EngineImage } from '../images/engine-images.ts'
import { labelsOf, newVolumeName } from '../names.ts'
import { commandOf } from './command.ts'
import { fillConfigVolume } from './config-volume.ts'
import { type ContainerPlan, containerBody, endpoint } from './container-body.ts'

export interface NewContainer {
  readonly name: string
  readonly spec: InstanceSpec
  readonly image: EngineImage
  /** A volume to be its ephemeral disk; without one it gets a new one if its flavor has such a disk. */
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
  const create = (network: string | undefined) => postContainer(host, { ...plan, network }, signal)
  if (first === undefined) await create(undefined)
  else await host.networks.use(first, signal, create)
  for (const nic of others) {
    await host.networks.use(nic, signal, async (network) => {
      const body = { Container: name, EndpointConfig: endpoint(nic) }
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
