import { setTimeout as sleep } from 'node:timers/promises'
import { isFailure } from '#common/errors.ts'
import type { Machine } from '../netboot/run-in-ramdisk.ts'

const ASK_AGAIN_MS = 1_000

/** The same machine, asked again while its BMC is silent, each time for up to `retryForMs`. */
export function withRetries(
  { power, management, macAddress }: Machine,
  retryForMs: number,
): Machine {
  const ask = async <T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> => {
    const deadline = performance.now() + retryForMs
    for (;;) {
      try {
        return await work()
      } catch (error) {
        signal.throwIfAborted()
        if (!isFailure(error, 'unavailable') || performance.now() >= deadline) throw error
      }
      await sleep(ASK_AGAIN_MS, undefined, { signal }).catch(() => signal.throwIfAborted())
    }
  }
  return {
    macAddress,
    power: {
      isOn: (signal) => ask(signal, () => power.isOn(signal)),
      on: (signal) => ask(signal, () => power.on(signal)),
      off: (signal) => ask(signal, () => power.off(signal)),
      askToShutDown: (signal) => ask(signal, () => power.askToShutDown(signal)),
      reset: (signal) => ask(signal, () => power.reset(signal)),
    },
    management: {
      bootFrom: (device, signal) => ask(signal, () => management.bootFrom(device, signal)),
    },
  }
}
