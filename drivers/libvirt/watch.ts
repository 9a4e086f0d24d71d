import { errorFields } from '#common/log.ts'
import type { InstanceReport } from '../driver.ts'
import { instanceOfDomain, isOwn } from './domains/own-domains.ts'
import { powerStateAfter } from './domains/power-state.ts'
import type { LibvirtHost } from './host.ts'
import type { LifecycleEvent } from './session.ts'

const LOOKUP_TIMEOUT_MS = 10_000

/** Calls `listener` on every change of power state of this owner's guests, in the order they happened. */
export function watch(
  host: LibvirtHost,
  listener: (report: InstanceReport) => void,
): AsyncDisposable {
  let tail = Promise.resolve()
  let stopped = false
  const deliver = async (event: LifecycleEvent) => {
    const id = instanceOfDomain(event.domain)
    const powerState = powerStateAfter(event.event, event.detail)
    if (powerState === undefined || stopped) return
    try {
      const signal = AbortSignal.timeout(LOOKUP_TIMEOUT_MS)
      if (!(await isOwn(host.domains, host.owner, event.domain, signal)) || stopped) return
      listener({ id, powerState })
    } catch (error) {
      host.logger?.warn({ ...errorFields(error), instance: id }, 'event was not delivered')
    }
  }
  const unsubscribe = host.session.onLifecycle((event) => {
    tail = tail.then(() => deliver(event))
  })
  return {
    async [Symbol.asyncDispose]() {
      stopped = true
      unsubscribe()
      await tail
    },
  }
}
