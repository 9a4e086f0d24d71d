import { Failure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import type { PortFilter } from '#openapi/wire/firewall.ts'
import type { Compute } from './compute.ts'
import { nicSpec } from './instance-spec.ts'

const TIMEOUT_MS = 30_000

/** Afterwards these ports let through what they say. */
export async function filterPorts(
  { driver }: Compute,
  { ports }: { readonly ports: readonly PortFilter[] },
): Promise<Record<string, never>> {
  if (driver.firewall === undefined)
    throw new Failure('unsupported', `Servers on driver '${driver.name}' are not filtered.`)
  const filters = ports.map(({ serverId, nic, rules }) => {
    return { instance: serverId as InstanceId, nic: nicSpec(nic), rules }
  })
  await driver.firewall.apply(filters, AbortSignal.timeout(TIMEOUT_MS))
  return {}
}
