import type { InstanceSpec, Rebuild, RebuildOptions } from '../driver.ts'
import { findContainer, getContainer } from './containers/container.ts'
import { EPHEMERAL_PATH } from './containers/container-body.ts'
import { createContainer } from './containers/create-container.ts'
import { removeVolumes } from './containers/remove-volumes.ts'
import { removeContainer } from './destroy.ts'
import type { DockerHost } from './host.ts'
import { containerName, nextContainerName } from './names.ts'

/** Makes instances again from an image. */
export function dockerRebuild(host: DockerHost): Rebuild {
  return {
    rebuild: (spec, how, signal) =>
      host.locks.runPreemptible(spec.id, signal, (lockSignal) =>
        rebuild(host, spec, how, lockSignal),
      ),
  }
}

/**
 * The new container is there before the guest is given up, so an image that cannot be had costs nothing, and waits
 * under another name until the old one is gone.
 */
async function rebuild(
  host: DockerHost,
  spec: InstanceSpec,
  { keepsEphemeral, runs }: RebuildOptions,
  signal: AbortSignal,
): Promise<void> {
  const { id } = spec
  const [name, next] = [containerName(id), nextContainerName(id)]
  await finishInterrupted(host, name, next, signal)
  const before = await getContainer(host, id, signal)
  const image = await host.images.ensure(spec.image, signal)
  const ephemeral = before.Mounts.find(({ Destination }) => Destination === EPHEMERAL_PATH)?.Name
  const ephemeralVolume = keepsEphemeral ? ephemeral : undefined
  await createContainer(host, { name: next, spec, image, ephemeralVolume }, signal)
  await removeContainer(host, name, signal)
  await rename(host, next, name, signal)
  const { Mounts } = await getContainer(host, id, signal)
  await removeVolumes(
    host,
    id,
    Mounts.flatMap(({ Name }) => Name ?? []),
    signal,
  )
  if (runs) await host.engine.call('POST', `/containers/${name}/start`, { signal })
}

/** A new container whose predecessor is gone takes its place; one beside its predecessor is made again. */
async function finishInterrupted(
  host: DockerHost,
  name: string,
  next: string,
  signal: AbortSignal,
): Promise<void> {
  if ((await findContainer(host, name, signal)) !== undefined)
    return removeContainer(host, next, signal)
  if ((await findContainer(host, next, signal)) !== undefined)
    await rename(host, next, name, signal)
}

async function rename(
  { engine }: DockerHost,
  from: string,
  to: string,
  signal: AbortSignal,
): Promise<void> {
  await engine.call('POST', `/containers/${from}/rename`, { query: { name: to }, signal })
}
