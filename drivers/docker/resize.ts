import { Failure } from '#common/errors.ts'
import type { InstanceSpec, Resize, ResizeOptions } from '../driver.ts'
import { getContainer } from './containers/container.ts'
import { limits } from './containers/container-body.ts'
import type { DockerHost } from './host.ts'
import { powerOff, powerOn } from './power.ts'

/**
 * Gives instances other limits of CPU and memory. A container's files stay where they are, so there is nothing to keep
 * until a resize is confirmed, and where storage limits a disk that limit cannot change.
 */
export function dockerResize(host: DockerHost): Resize {
  return {
    resize: (spec, how, signal) =>
      host.locks.runPreemptible(spec.id, signal, async (lockSignal) => {
        await getContainer(host, spec.id, lockSignal)
        await refuseDisks(host, spec)
        await change(host, spec, how, lockSignal)
      }),
    revert: (spec, how, signal) =>
      host.locks.runPreemptible(spec.id, signal, (lockSignal) =>
        change(host, spec, how, lockSignal),
      ),
    confirm: async (id, signal) => {
      await getContainer(host, id, signal)
    },
  }
}

async function change(
  host: DockerHost,
  spec: InstanceSpec,
  { runs, graceMs }: ResizeOptions,
  signal: AbortSignal,
): Promise<void> {
  const container = await getContainer(host, spec.id, signal)
  await powerOff(host, container, graceMs, signal)
  const body = limits(spec.flavor, false)
  await host.engine.call('POST', `/containers/${container.Id}/update`, { body, signal })
  await host.diskSizes.write(spec.id, spec.flavor)
  if (runs) await powerOn(host, await getContainer(host, spec.id, signal), signal)
}

async function refuseDisks(host: DockerHost, { id, flavor }: InstanceSpec): Promise<void> {
  const { rootGb, ephemeralGb } = await host.diskSizes.read(id)
  if (flavor.rootGb < rootGb || flavor.ephemeralGb < ephemeralGb)
    throw new Failure('invalid', 'Unable to resize disk down.')
  const needsVolume = ephemeralGb === 0 && flavor.ephemeralGb > 0
  if (needsVolume || (host.limitsDisk && flavor.rootGb > rootGb))
    throw new Failure(
      'invalid',
      `The disks of a container keep their size: choose a flavor with ${rootGb} GB and ${ephemeralGb} GB of ephemeral disk.`,
    )
}
