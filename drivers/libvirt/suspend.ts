import { Failure } from '#common/errors.ts'
import type { Suspend } from '../driver.ts'
import { getOwnDomain } from './domains/own-domains.ts'
import { powerStateOf } from './domains/power-state.ts'
import type { LibvirtHost } from './host.ts'
import { powerOn } from './power.ts'

/** Suspends guests to disk (libvirt's managed save), as Nova's driver does. */
export function libvirtSuspend(host: LibvirtHost): Suspend {
  return {
    suspend: (id, signal) =>
      host.locks.run(id, signal, async () => {
        const domain = await getOwnDomain(host.domains, host.owner, id, signal)
        const state = powerStateOf(await host.domains.state(domain, signal))
        if (state === 'running') return host.domains.save(domain, signal)
        if (await host.domains.isSaved(domain, signal)) return
        throw new Failure('conflict', `Instance ${id} is not running, so it cannot be suspended.`)
      }),
    resume: (id, signal) =>
      host.locks.run(id, signal, async () => {
        // A start reads what was saved.
        await powerOn(host, id, await getOwnDomain(host.domains, host.owner, id, signal), signal)
      }),
  }
}
