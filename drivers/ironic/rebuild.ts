import type { InstanceSpec, Rebuild, RebuildOptions } from '../driver.ts'
import { deploy } from './deploy.ts'
import { deployable, refuseUnfit } from './deployable.ts'
import { getHeld, settledNode } from './held-node.ts'
import type { IronicHost } from './host.ts'
import { powerOff, powerOn } from './power.ts'

/** Has another image written to a server's node. */
export function ironicRebuild(host: IronicHost): Rebuild {
  return {
    rebuild: (spec, how, signal) =>
      host.locks.runPreemptible(spec.id, signal, (lockSignal) =>
        rebuild(host, spec, how, lockSignal),
      ),
  }
}

async function rebuild(
  host: IronicHost,
  spec: InstanceSpec,
  { runs }: RebuildOptions,
  signal: AbortSignal,
): Promise<void> {
  const held = await getHeld(host, spec.id, signal)
  await using image = await deployable(host, spec, signal)
  refuseUnfit(held, spec.image, image)
  const node = await settledNode(host, held.uuid, signal)
  const active = await deploy(host, node, spec, { image, target: 'rebuild' }, signal)
  await (runs ? powerOn(host, active, signal) : powerOff(host, active, 0, signal))
}
