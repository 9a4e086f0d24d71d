import { setTimeout as sleep } from 'node:timers/promises'
import type { InstanceReport } from './driver.ts'

export type PowerListener = (report: InstanceReport) => void

/** No BMC reports, in a way common to all, that its machine went off, and ironic reports it only on its own bus. */
const ASK_EVERY_MS = 2_000

/** Tells `listener` of every change of power state that the driver makes or sees, until disposed. */
export function watch(
  { listeners }: { readonly listeners: Set<PowerListener> },
  listener: PowerListener,
): AsyncDisposable {
  listeners.add(listener)
  return {
    async [Symbol.asyncDispose]() {
      listeners.delete(listener)
    },
  }
}

/** Looks at the machines again and again, until aborted. `look` tells of its failures itself. */
export async function pollRepeatedly(
  poll: () => Promise<unknown>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await poll()
    await sleep(ASK_EVERY_MS, undefined, { signal }).catch(() => undefined)
  }
}
