import { Failure, isFailure } from '#common/errors.ts'
import type { Password } from '../password.ts'
import { guestOptions } from './domains/guest-options.ts'
import { getOwnDomain } from './domains/own-domains.ts'
import type { LibvirtHost } from './host.ts'
import { getInstanceRecord } from './redefine.ts'

/** Sets passwords through the QEMU guest agent, as Nova's driver does. */
export function libvirtPassword(host: LibvirtHost): Password {
  return {
    set: (id, password, signal) =>
      host.locks.run(id, signal, async () => {
        const domain = await getOwnDomain(host.domains, host.owner, id, signal)
        const { adminUser: user } = guestOptions((await getInstanceRecord(host, id)).domain)
        await host.devices
          .setUserPassword(domain, { user, password }, signal)
          .catch((error: unknown) => {
            // `unsupported`: its image wants no agent.
            if (!isFailure(error, 'conflict', 'unsupported')) throw error
            const message = `No guest agent of instance ${id} could set the password of ${user}.`
            throw new Failure('conflict', message, { cause: error })
          })
      }),
  }
}
