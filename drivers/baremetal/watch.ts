import { setTimeout as sleep } from 'node:timers/promises'
import { errorFields } from '#common/log.ts'
import type { InstanceReport } from '../driver.ts'
import type { BaremetalHost } from './host.ts'
import type { Node } from './nodes/node.ts'
import { sawPower } from './saw-power.ts'

/** No BMC tells by itself, in a way that all of them know, that its machine went off. */
const ASK_EVERY_MS = 2_000

/** Tells `listener` of every change of power state that the driver makes or sees, until disposed. */
export function watch(
  { listeners }: BaremetalHost,
  listener: (report: InstanceReport) => void,
): AsyncDisposable {
  listeners.add(listener)
  return {
    async [Symbol.asyncDispose]() {
      listeners.delete(listener)
    },
  }
}

/** Asks the machines of all servers, again and again, until aborted. */
export async function watchPower(host: BaremetalHost, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await Promise.all(host.nodes.all().map((node) => look(host, node, signal)))
    await sleep(ASK_EVERY_MS, undefined, { signal }).catch(() => undefined)
  }
}

/** One that somebody is working on is told of by whoever does. */
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
