import { POWER_STATES } from '#common/states/instance-states.ts'
import type { UnmanagedGuest } from '#openapi/wire/host.ts'
import type { Compute } from '../compute.ts'
import { driverPart } from '../driver-part.ts'

const TIMEOUT_MS = 20_000

/** Guests on the backend that belong to no server. Throws `unsupported` where none can be adopted. */
export async function unmanagedGuests({
  driver,
}: Compute): Promise<{ readonly guests: UnmanagedGuest[] }> {
  const found = await driverPart(driver, 'adopt').unmanagedGuests(AbortSignal.timeout(TIMEOUT_MS))
  return {
    guests: found.map(({ powerState, metadata, tags, ...guest }) => ({
      ...guest,
      ...(metadata && { metadata: { ...metadata } }),
      ...(tags && { tags: [...tags] }),
      powerState: POWER_STATES[powerState],
    })),
  }
}
