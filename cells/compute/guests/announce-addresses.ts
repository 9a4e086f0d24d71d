import { Failure } from '#common/errors.ts'
import type { AddressAnnouncement } from '#openapi/wire/announcement.ts'
import type { Compute } from '../compute.ts'

/** Announcements are repeated for a second. */
const LIMIT_MS = 5_000

/** Afterwards the networks of the site know that these addresses are here. Throws as the driver does. */
export async function announceAddresses(
  { driver: { addressAnnouncer } }: Compute,
  { addresses }: AddressAnnouncement,
): Promise<Record<string, never>> {
  if (addressAnnouncer === undefined)
    throw new Failure('unsupported', 'The host is not joined to the OVN of its cell.')
  await addressAnnouncer.announce(addresses, AbortSignal.timeout(LIMIT_MS))
  return {}
}
