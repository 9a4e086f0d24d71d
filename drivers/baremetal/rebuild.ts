import { errorChain, isFailure } from '#common/errors.ts'
import type { InstanceSpec, Rebuild, RebuildOptions } from '../driver.ts'
import { deploy, refuseUnfit } from './deploy/deploy.ts'
import { deployable } from './deploy/deployable.ts'
import type { BaremetalHost } from './host.ts'
import { powerOff } from './power.ts'

/** Gives a server's machine another image. Data behind the image's end on the disk stays: it is the server's own. */
export function baremetalRebuild(host: BaremetalHost): Rebuild {
  return {
    rebuild: (spec, how, signal) =>
      host.locks.runPreemptible(spec.id, signal, (lockSignal) =>
        rebuild(host, spec, how, lockSignal),
      ),
  }
}

async function rebuild(
  host: BaremetalHost,
  spec: InstanceSpec,
  { runs }: RebuildOptions,
  signal: AbortSignal,
): Promise<void> {
  const node = host.nodes.get(spec.id)
  await using image = await deployable(host.images, spec, signal)
  refuseUnfit(host, node, spec, image)
  // One that was interrupted is written again; one whose server is being deleted is refused.
  if (node.record.state !== 'deploying') await host.nodes.move(node, 'rebuild')
  try {
    await powerOff(host, node, 0, signal)
    await deploy(host, node, spec, { image, runs }, signal)
  } catch (error) {
    // A host that stops continues this after its restart.
    if (!signal.aborted && node.record.state === 'deploying' && !isFailure(error, 'unavailable'))
      await host.nodes.move(node, 'fail', { failure: errorChain(error) })
    throw error
  }
}
