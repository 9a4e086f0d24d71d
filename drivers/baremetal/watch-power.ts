import { errorFields } from '#common/log.ts'
import { lookRepeatedly } from '../power-watch.ts'
import type { BaremetalHost } from './host.ts'
import type { Node } from './nodes/node.ts'
import { sawPower } from './saw-power.ts'

/** Asks the machines of all servers, again and again, until aborted. */
export function watchPower(host: BaremetalHost, signal: AbortSignal): Promise<void> {
  const lookAtAll = () => Promise.all(host.nodes.all().map((node) => look(host, node, signal)))
  return lookRepeatedly(lookAtAll, signal)
}

/** A node with work under way is reported by that work. */
async function look(host: BaremetalHost, node: Node, signal: AbortSignal): Promise<void> {
  const { instance, state } = node.record
  if (instance === null || state !== 'active') return
  try {
    await host.locks.runIfFree(instance, signal, async () => {
      const isOn = await node.power.isOn(signal)
      if (node.record.instance === instance) await sawPower(host, node, isOn)
    })
  } catch (error) {
    if (!signal.aborted)
      host.logger?.debug({ ...errorFields(error), node: node.name }, 'BMC silent')
  }
}
