import { setTimeout as sleep } from 'node:timers/promises'
import { errorFields } from '#common/log.ts'
import type { InstanceReport } from '../driver.ts'
import { followEvents } from './follow-events.ts'
import type { NestedHost } from './host.ts'

/**
 * Calls `listener` for every change of power state that the cloud's events or lists show; asks for a list when no
 * other caller does.
 */
export function watch(
  host: NestedHost,
  listener: (report: InstanceReport) => void,
): AsyncDisposable {
  const stop = new AbortController()
  const listening = host.view.listen(listener)
  const following = Promise.all([poll(host, stop.signal), followEvents(host, stop.signal)])
  return {
    async [Symbol.asyncDispose]() {
      listening[Symbol.dispose]()
      stop.abort()
      await following
    },
  }
}

async function poll(host: NestedHost, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await host.view.refresh(signal)
    } catch (error) {
      if (!signal.aborted) host.logger?.warn(errorFields(error), 'the cloud below is not seen')
    }
    await sleep(host.settings.idlePollMs, undefined, { signal }).catch(() => undefined)
  }
}
