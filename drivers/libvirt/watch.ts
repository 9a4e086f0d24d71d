import type { InstanceId } from '#common/ids.ts'
import { errorFields } from '#common/log.ts'
import type { InstanceReport } from '../driver.ts'
import { instanceOfDomain, isOwn } from './domains/own-domains.ts'
import { powerStateAfter, powerStateOf } from './domains/power-state.ts'
import type { LibvirtHost } from './host.ts'
import type { DomainRef } from './rpc/refs.ts'
import { withReleased } from './volumes/released.ts'
import { isVolumeAlias } from './volumes/volume-device.ts'

const LOOKUP_TIMEOUT_MS = 10_000

/** Calls `listener` on every change of power state and late release of a volume of this owner's guests, in the order they happened. */
export function watch(
  host: LibvirtHost,
  listener: (report: InstanceReport) => void,
): AsyncDisposable {
  let tail = Promise.resolve()
  let stopped = false
  const deliver = async (
    { domain }: { readonly domain: DomainRef },
    reportOf: (id: InstanceId, signal: AbortSignal) => Promise<InstanceReport | undefined>,
  ) => {
    const id = instanceOfDomain(domain)
    if (stopped) return
    try {
      const signal = AbortSignal.timeout(LOOKUP_TIMEOUT_MS)
      if (!(await isOwn(host.domains, host.owner, domain, signal)) || stopped) return
      const report = await reportOf(id, signal)
      if (report !== undefined) listener(report)
    } catch (error) {
      host.logger?.warn({ ...errorFields(error), instance: id }, 'event was not delivered')
    }
  }
  const queue = (...event: Parameters<typeof deliver>) => {
    tail = tail.then(() => deliver(...event))
  }
  const unsubscribe = [
    host.session.onLifecycle((event) => {
      const powerState = powerStateAfter(event.event, event.detail)
      // It goes on at once, and its users see no pause.
      if (powerState === 'paused' && host.changingOver.has(instanceOfDomain(event.domain))) return
      if (powerState !== undefined) queue(event, async (id) => ({ id, powerState }))
    }),
    host.session.onRemoval((event) => {
      if (isVolumeAlias(event.alias))
        queue(event, (id, signal) => releasedNow(host, event.domain, id, signal))
    }),
  ]
  return {
    async [Symbol.asyncDispose]() {
      stopped = true
      for (const end of unsubscribe) end()
      await tail
    },
  }
}

/** Undefined for a volume that a detach waits for. */
async function releasedNow(
  host: LibvirtHost,
  domain: DomainRef,
  id: InstanceId,
  signal: AbortSignal,
): Promise<InstanceReport | undefined> {
  const powerState = powerStateOf(await host.domains.state(domain, signal))
  const [report] = await withReleased(host, [{ id, powerState }], signal)
  return report?.released === undefined ? undefined : report
}
