import { errorChain, isFailure } from '#common/errors.ts'
import { errorFields } from '#common/log.ts'
import type { BaremetalHost } from '../host.ts'
import { cleanMachine } from '../netboot/run-in-ramdisk.ts'
import { withinTask } from '../netboot/within-task.ts'
import { withRetries } from '../parts/with-retries.ts'
import { machineOf } from './machine-of.ts'
import type { Node } from './node.ts'

/**
 * Afterwards a node that is `cleaning` has no server, and is available with empty disks, or out of service where they
 * could not be emptied. Throws `unavailable` when that is not known: it has to be cleaned again.
 */
export async function cleanNode(
  host: BaremetalHost,
  node: Node,
  signal: AbortSignal,
): Promise<void> {
  try {
    if (host.cleans)
      await withinTask(host, signal, (taskSignal) =>
        cleanMachine(withRetries(machineOf(node), host.retryForMs), host.bootServer, taskSignal),
      )
  } catch (error) {
    if (!isFailure(error, 'internal', 'forbidden')) throw error
    host.logger?.error({ ...errorFields(error), node: node.name }, 'machine could not be cleaned')
    return host.nodes.move(node, 'fail', { instance: null, failure: errorChain(error) })
  }
  await host.nodes.move(node, 'done', { instance: null })
}
