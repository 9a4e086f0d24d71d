import { Failure, isFailure } from '#common/errors.ts'
import { errorFields } from '#common/log.ts'
import type { InstanceSpec } from '../driver.ts'
import { wantedClass } from '../wanted-class.ts'
import { deploy, refuseTooLarge } from './deploy/deploy.ts'
import { rootImage } from './deploy/root-image.ts'
import { removeInstance } from './destroy.ts'
import type { BaremetalHost } from './host.ts'
import type { Node } from './nodes/node.ts'
import { powerOn } from './power.ts'

/** Afterwards the instance runs on a machine of its own. A machine that was half written is written anew. */
export async function spawn(
  host: BaremetalHost,
  spec: InstanceSpec,
  signal: AbortSignal,
): Promise<void> {
  await host.locks.runPreemptible(spec.id, signal, async (spawnSignal) => {
    const held = host.nodes.holding(spec.id)
    if (held?.record.state === 'active') return powerOn(host, held, spawnSignal)
    if (held?.record.state === 'cleaning') await removeInstance(host, spec.id, spawnSignal)
    try {
      await build(host, spec, spawnSignal)
    } catch (error) {
      if (!isFailure(error, 'unavailable')) await cleanUp(host, spec)
      throw error
    }
  })
}

/** The image is there before a machine is taken, so one that cannot be had costs no cleaning. */
async function build(host: BaremetalHost, spec: InstanceSpec, signal: AbortSignal): Promise<void> {
  const resourceClass = wantedClass(spec.flavor)
  refuseUntold(spec)
  await using content = await rootImage(host.images, spec.image, signal)
  const node =
    host.nodes.holding(spec.id) ??
    (await host.nodes.take(resourceClass, spec.id, (free) => refuseTooLarge(free, spec, content)))
  await deploy(host, node, content, { runs: true }, signal)
  logTaken(host, node, spec)
}

/** The disk holds the image and nothing besides, so a guest that is to be told something would wait for it in vain. */
export function refuseUntold({ configDrive }: Pick<InstanceSpec, 'configDrive'>): void {
  if (configDrive !== undefined)
    throw new Failure('unsupported', 'Machines have no config drive. Build the server without one.')
}

function logTaken({ logger }: BaremetalHost, node: Node, { id }: InstanceSpec): void {
  logger?.info({ instance: id, node: node.name }, 'machine runs a server')
}

/** The caller's signal may have ended the spawn. */
async function cleanUp(host: BaremetalHost, { id }: InstanceSpec): Promise<void> {
  try {
    await removeInstance(host, id, AbortSignal.timeout(host.taskMs))
  } catch (error) {
    host.logger?.error({ ...errorFields(error), instance: id }, 'failed spawn left something')
    throw new Failure('unavailable', 'The host could not take back what it had built.', {
      cause: error,
    })
  }
}
