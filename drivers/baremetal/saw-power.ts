import type { BaremetalHost } from './host.ts'
import type { Node } from './nodes/node.ts'

/** Records and reports that the node's server runs, or is off; the console of a machine that is off is closed. */
export async function sawPower(host: BaremetalHost, node: Node, isOn: boolean): Promise<void> {
  const { instance, isOn: wasOn } = node.record
  if (instance === null) return
  if (!isOn) host.lines.get(instance)?.hangUp()
  if (wasOn === isOn) return
  await host.nodes.sawPower(node, isOn)
  const report = { id: instance, powerState: isOn ? 'running' : 'shutdown' } as const
  for (const listener of host.listeners) listener(report)
}
