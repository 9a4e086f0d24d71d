import { isFailure } from '#common/errors.ts'
import type { InstanceReport } from '../driver.ts'
import type { BaremetalHost } from './host.ts'
import type { Node } from './nodes/node.ts'

/** Every instance that has a machine here. One whose BMC is silent is as it was last seen. */
export async function list(
  { nodes }: BaremetalHost,
  signal: AbortSignal,
): Promise<readonly InstanceReport[]> {
  signal.throwIfAborted()
  const reports = await Promise.all(nodes.all().map((node) => reportOf(node, signal)))
  return reports.filter((report) => report !== undefined)
}

async function reportOf(node: Node, signal: AbortSignal): Promise<InstanceReport | undefined> {
  const { instance, state } = node.record
  if (instance === null) return undefined
  const runs = state === 'active' && (await isOn(node, signal))
  return { id: instance, powerState: runs ? 'running' : 'shutdown' }
}

async function isOn(node: Node, signal: AbortSignal): Promise<boolean> {
  try {
    return await node.power.isOn(signal)
  } catch (error) {
    if (!isFailure(error, 'unavailable')) throw error
    return node.record.isOn
  }
}
