import { Failure } from '#common/errors.ts'
import type { Pause } from '../driver.ts'
import { getOwnDomain } from './domains/own-domains.ts'
import { powerStateOf } from './domains/power-state.ts'
import type { LibvirtHost } from './host.ts'

/** Freezes and thaws guests in memory. */
export function libvirtPause(host: LibvirtHost): Pause {
  return {
    pause: (id, signal) =>
      host.locks.run(id, signal, async () => {
        const domain = await getOwnDomain(host.domains, host.owner, id, signal)
        const state = powerStateOf(await host.domains.state(domain, signal))
        if (state === 'paused') return
        if (state !== 'running')
          throw new Failure('conflict', `Instance ${id} is not running, so it cannot be paused.`)
        await host.domains.suspend(domain, signal)
      }),
    unpause: (id, signal) =>
      host.locks.run(id, signal, async () => {
        const domain = await getOwnDomain(host.domains, host.owner, id, signal)
        const state = powerStateOf(await host.domains.state(domain, signal))
        if (state === 'running') return
        if (state !== 'paused') throw new Failure('conflict', `Instance ${id} is not paused.`)
        await host.domains.resume(domain, signal)
      }),
  }
}
