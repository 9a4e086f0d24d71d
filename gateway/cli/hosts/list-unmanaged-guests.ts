import type { components } from '#openapi/federation.gen.ts'
import type { Operator } from '../operator.ts'
import { present } from '../output/present.ts'
import { type Listing, listView } from '../output/view.ts'
import { findHost } from './find-host.ts'
import type { HostOptions } from './list-hosts.ts'

const LISTING: Listing<components['schemas']['UnmanagedGuest']> = {
  plural: 'unmanaged guests',
  nameOf: ({ id }) => id,
  columns: [
    { head: 'ID', of: ({ id }) => id },
    { head: 'NAME', of: ({ name }) => name },
    { head: 'POWER', of: ({ power_state }) => power_state },
    { head: 'VCPUS', of: ({ vcpus }) => vcpus },
    { head: 'MIB', of: ({ memory_mb }) => memory_mb },
    { head: 'DISK GB', of: ({ disk_gb }) => disk_gb },
  ],
}

/** Shows the unmanaged guests of a host's backend. */
export async function listUnmanagedGuests(
  operator: Operator,
  name: string,
  options: HostOptions,
): Promise<void> {
  await present(operator, options, async (session) => {
    const { id: host } = await findHost(session, name, options.cell)
    const path = { host }
    const { guests } = await session.federation.ask('get', '/v1/hosts/{host}/guests', { path })
    return listView(guests, LISTING)
  })
}
