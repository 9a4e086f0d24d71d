import { isFailure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import { findContainer } from './containers/container.ts'
import { listOwnContainers } from './containers/own-containers.ts'
import { removeVolumes } from './containers/remove-volumes.ts'
import type { DockerHost } from './host.ts'
import { containerName, isOwn, nextContainerName } from './names.ts'

/** Afterwards nothing of the instance is left, and of unused images no more than is kept. A spawn under way is ended first. */
export async function destroy(
  host: DockerHost,
  id: InstanceId,
  signal: AbortSignal,
): Promise<void> {
  await host.locks.runDestroy(id, signal, () => removeInstance(host, id, signal))
  await host.images.purge(signal)
}

/** The same under a lock that the caller holds. The containers go first: they hold volumes and networks. */
export async function removeInstance(
  host: DockerHost,
  id: InstanceId,
  signal: AbortSignal,
): Promise<void> {
  for (const name of [nextContainerName(id), containerName(id)])
    await removeContainer(host, name, signal)
  await removeVolumes(host, id, [], signal)
  await host.diskSizes.remove(id)
  await releaseNetworks(host, signal)
}

/** Afterwards none of this host's networks is left that no container has a NIC in. */
export async function releaseNetworks(host: DockerHost, signal: AbortSignal): Promise<void> {
  await host.networks.releaseUnused((network) => isUsed(host, network, signal), signal)
}

/** Afterwards the container is gone, and with it the volumes that its image declared; one of somebody else's stays. */
export async function removeContainer(
  host: DockerHost,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  const container = await findContainer(host, name, signal)
  if (container === undefined || !isOwn(host.owner, container.Config.Labels)) return
  const query = { force: '1', v: '1' }
  await host.engine
    .call('DELETE', `/containers/${container.Id}`, { query, signal })
    .catch((error: unknown) => {
      if (!isFailure(error, 'not-found')) throw error
    })
}

/** A stopped container keeps its networks: the engine itself would let them go. */
async function isUsed(host: DockerHost, network: string, signal: AbortSignal): Promise<boolean> {
  const containers = await listOwnContainers(host, signal)
  return containers.some(({ NetworkSettings }) => network in NetworkSettings.Networks)
}
