import { workContext } from '#common/context.ts'
import type { HostId } from '#common/ids.ts'
import { errorFields } from '#common/log.ts'
import type { MovedAddresses } from '#drivers/ovn/moved-addresses.ts'
import { ANNOUNCED_MAX } from '#openapi/wire/announcement.ts'
import { askHost } from '../conductor/ask-host.ts'
import type { Conductor } from '../conductor/conductor.ts'

/**
 * Afterwards the host has told the networks of the site that these addresses are there, if it can: OVN itself tells them
 * a second later.
 */
export async function announceMoved(
  conductor: Conductor,
  { chassis, addresses }: MovedAddresses,
): Promise<void> {
  const host = chassis as HostId
  try {
    for (let from = 0; from < addresses.length; from += ANNOUNCED_MAX) {
      const part = { addresses: addresses.slice(from, from + ANNOUNCED_MAX) }
      await askHost(conductor, host, 'announce-addresses', part, workContext({}))
    }
  } catch (error) {
    conductor.log.info({ host, ...errorFields(error) }, 'a host does not announce floating IPs')
  }
}
