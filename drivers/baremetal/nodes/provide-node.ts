import { errorChain, Failure, isFailure } from '#common/errors.ts'
import { errorFields } from '#common/log.ts'
import type { MachineParts } from '../../nodes.ts'
import type { BaremetalHost } from '../host.ts'
import { inspectMachine } from '../netboot/run-in-ramdisk.ts'
import { withinTask } from '../netboot/within-task.ts'
import { cleanNode } from './clean-node.ts'
import { machineOf } from './machine-of.ts'
import type { Node } from './node.ts'

/**
 * Afterwards a node without a server is inspected, clean and so available, or its record has the reason why not. A node
 * in maintenance is not touched. False if its BMC or the machine did not answer: a later try may succeed.
 */
export async function provideNode(
  host: BaremetalHost,
  node: Node,
  signal: AbortSignal,
): Promise<boolean> {
  const { record, enrolled } = node
  if (record.instance !== null || enrolled.maintenance !== undefined) return true
  try {
    if (['enrolled', 'inspecting', 'inspect-failed'].includes(record.state))
      await inspectNode(host, node, signal)
    if (['cleaning', 'clean-failed'].includes(node.record.state)) {
      await host.nodes.move(node, 'clean', { failure: record.failure })
      await cleanNode(host, node, signal)
    }
    return true
  } catch (error) {
    if (signal.aborted) return true
    host.logger?.error({ ...errorFields(error), node: node.name }, 'machine is not available')
    if (node.record.state === 'cleaning')
      await host.nodes.move(node, 'fail', { failure: errorChain(error) })
    return !isFailure(error, 'unavailable')
  }
}

/** Afterwards it is known what the node is made of. */
async function inspectNode(host: BaremetalHost, node: Node, signal: AbortSignal): Promise<void> {
  await host.nodes.move(node, 'inspect')
  try {
    const parts = await withinTask(host, signal, (taskSignal) =>
      inspectMachine(machineOf(node), host.bootServer, taskSignal),
    )
    refuseMissing(node, parts)
    await host.nodes.move(node, 'done', { parts })
  } catch (error) {
    if (!signal.aborted) await host.nodes.move(node, 'fail', { failure: errorChain(error) })
    throw error
  }
}

/** Throws `invalid` for a machine without a NIC that it was added with. */
function refuseMissing(
  { name, enrolled: { nics = [] } }: Node,
  { macAddresses }: MachineParts,
): void {
  const missing = nics.filter(({ macAddress }) => !macAddresses.includes(macAddress))
  if (missing.length === 0) return
  const has = macAddresses.length === 0 ? 'none' : macAddresses.join(', ')
  const named = missing.map(({ macAddress }) => macAddress).join(', ')
  throw new Failure(
    'invalid',
    `Node ${name} does not have NIC ${named}; inspection found ${has}. Remove the node, and add it with these.`,
  )
}
