import { Failure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import { POWER_STATES } from '#common/states/instance-states.ts'
import type { GuestFigures } from '#openapi/wire/diagnostics.ts'
import type { Compute } from '../compute.ts'

const TIMEOUT_MS = 10_000

/** The usage of the guest so far. Throws `unsupported` where the driver has no diagnostics. */
export async function diagnostics(
  { driver }: Compute,
  ask: { readonly serverId: string },
): Promise<GuestFigures> {
  if (driver.diagnostics === undefined)
    throw new Failure('unsupported', 'The requested functionality is not supported.')
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const { powerState, ...figures } = await driver.diagnostics.read(
    ask.serverId as InstanceId,
    signal,
  )
  return {
    ...figures,
    powerState: POWER_STATES[powerState],
    cpus: [...figures.cpus],
    nics: [...figures.nics],
    disks: [...figures.disks],
  }
}
