import { errorFields } from '#common/log.ts'
import { lookRepeatedly } from '../power-watch.ts'
import { heldNodes } from './held-node.ts'
import type { IronicHost } from './host.ts'
import { isUnderWay } from './ironic-node.ts'
import { reportOf } from './list.ts'
import { reportPower } from './report-power.ts'

/** Asks ironic for all of its nodes, again and again, until aborted. */
export function watchPower(host: IronicHost, signal: AbortSignal): Promise<void> {
  const lookAtAll = () =>
    look(host, signal).catch((error: unknown) => {
      if (!signal.aborted) host.logger?.debug(errorFields(error), 'ironic silent')
    })
  return lookRepeatedly(lookAtAll, signal)
}

/** A node with work under way is reported by that work. */
async function look(host: IronicHost, signal: AbortSignal): Promise<void> {
  for (const held of await heldNodes(host, signal)) {
    const { id } = reportOf(held)
    await host.locks.runIfFree(id, signal, async () => {
      const node = await host.client.node(held.uuid, signal)
      if (node.extra.weir?.instance !== id || isUnderWay(node)) return
      reportPower(host, id, reportOf(node).powerState)
    })
  }
}
