import { setTimeout as sleep } from 'node:timers/promises'
import { errorFields } from '#common/log.ts'
import type { InstanceReport } from '../driver.ts'
import { followEvents } from './follow-events.ts'
import type { NestedHost } from './host.ts'

/** Tells `listener` of every change of power state that the cloud tells of or its lists show; asks for one when nobody else does. */
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
