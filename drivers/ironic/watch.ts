import { setTimeout as sleep } from 'node:timers/promises'
import { errorFields } from '#common/log.ts'
import type { InstanceReport } from '../driver.ts'
import { heldNodes } from './held-node.ts'
import type { IronicHost } from './host.ts'
import { isUnderWay } from './ironic-node.ts'
import { reportOf } from './list.ts'
import { tell } from './tell.ts'

/** Ironic tells nobody outside of its own bus. It asks the BMCs themselves every minute unless it is told otherwise. */
const ASK_EVERY_MS = 2_000

/** Tells `listener` of every change of power state that the driver makes or sees, until disposed. */
export function watch(
  { listeners }: IronicHost,
  listener: (report: InstanceReport) => void,
): AsyncDisposable {
  listeners.add(listener)
  return {
    async [Symbol.asyncDispose]() {
      listeners.delete(listener)
    },
  }
}

/** Asks ironic for all of its nodes, again and again, until aborted. */
export async function watchPower(host: IronicHost, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await look(host, signal)
    } catch (error) {
      if (!signal.aborted) host.logger?.debug(errorFields(error), 'ironic silent')
    }
    await sleep(ASK_EVERY_MS, undefined, { signal }).catch(() => undefined)
  }
}

/** One that somebody is working on is told of by whoever does. */
async function look(host: IronicHost, signal: AbortSignal): Promise<void> {
  for (const held of await heldNodes(host, signal)) {
    const { id } = reportOf(held)
    await host.locks.runIfFree(id, signal, async () => {
      const node = await host.client.node(held.uuid, signal)
      if (node.extra.weir?.instance !== id || isUnderWay(node)) return
      tell(host, id, reportOf(node).powerState)
    })
  }
}
