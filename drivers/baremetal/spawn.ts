import { errorChain, isFailure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import { errorFields } from '#common/log.ts'
import type { InstanceSpec } from '../driver.ts'
import { storageFailure } from '../storage-failure.ts'
import { wantedClass } from '../wanted-class.ts'
import { deploy, refuseUnfit } from './deploy/deploy.ts'
import { deployable } from './deploy/deployable.ts'
import { removeInstance } from './destroy.ts'
import type { BaremetalHost } from './host.ts'
import type { Node } from './nodes/node.ts'
import type { NodeWork } from './nodes/node-work.ts'
import { powerOn } from './power.ts'

/**
 * Afterwards the instance runs on a machine of its own. A machine that was partly written is written again. A machine
 * that cannot be deployed is cleaned for the next server by `work`. An abort leaves the machine as it is: the host
 * stops, and the cell repeats the request or deletes the server.
 */
export async function spawn(
  host: BaremetalHost,
  work: NodeWork,
  spec: InstanceSpec,
  signal: AbortSignal,
): Promise<void> {
  await host.locks.runPreemptible(spec.id, signal, async (spawnSignal) => {
    const held = host.nodes.holding(spec.id)
    if (held?.record.state === 'active') return powerOn(host, held, spawnSignal)
    if (held?.record.state === 'cleaning') await removeInstance(host, spec.id, spawnSignal)
    try {
      await build(host, spec, spawnSignal)
    } catch (thrown) {
      const error = storageFailure(thrown)
      if (!spawnSignal.aborted && !isFailure(error, 'unavailable'))
        await giveBack(host, work, spec.id, error)
      throw error
    }
  })
}

/** The image is there before a machine is taken, so one that cannot be had costs no cleaning. */
async function build(host: BaremetalHost, spec: InstanceSpec, signal: AbortSignal): Promise<void> {
  const resourceClass = wantedClass(spec.flavor)
  await using image = await deployable(host.images, spec, signal)
  const node =
    host.nodes.holding(spec.id) ??
    (await host.nodes.take(resourceClass, spec.id, (free) => refuseUnfit(host, free, spec, image)))
  if (node.record.state === 'deploy-failed') await host.nodes.move(node, 'rebuild')
  await deploy(host, node, spec, { image, runs: true }, signal)
  logTaken(host, node, spec)
}

function logTaken({ logger }: BaremetalHost, node: Node, { id }: InstanceSpec): void {
  logger?.info({ instance: id, node: node.name }, 'machine runs a server')
}

/** Afterwards the server has no machine, and the one that it had is being cleaned. */
async function giveBack(
  host: BaremetalHost,
  work: NodeWork,
  id: InstanceId,
  error: unknown,
): Promise<void> {
  const node = host.nodes.holding(id)
  if (node === undefined) return
  host.logger?.error({ ...errorFields(error), instance: id, node: node.name }, 'deploy failed')
  await host.lines.stop(id)
  await host.lines.log(id).remove()
  await host.liveBoots.remove(id)
  await host.nodes.move(node, 'release', { instance: null, failure: errorChain(error) })
  work.begin(node)
}
