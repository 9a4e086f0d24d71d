import { Failure, isFailure } from '#common/errors.ts'
import type { CrashDump } from '../guest-diagnostics.ts'
import { getOwnDomain } from './domains/own-domains.ts'
import type { LibvirtHost } from './host.ts'

/** A non-maskable interrupt: what a guest does then, such as writing a dump, is its own affair. */
export function libvirtCrashDump(host: LibvirtHost): CrashDump {
  return {
    trigger: (id, signal) =>
      host.locks.run(id, signal, async () => {
        const domain = await getOwnDomain(host.domains, host.owner, id, signal)
        await host.domains.injectNmi(domain, signal).catch((error: unknown) => {
          if (!isFailure(error, 'conflict')) throw error
          const message = `Instance ${id} is not running, so it cannot crash.`
          throw new Failure('conflict', message, { cause: error })
        })
      }),
  }
}
