import type { Static } from 'typebox'
import { Failure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import type { PortFilter } from '#openapi/wire/firewall.ts'
import type { HOST_OPERATIONS } from '#openapi/wire/host.ts'
import type { Compute } from '../compute.ts'
import { nicSpec } from './instance-spec.ts'

type Ask = Static<(typeof HOST_OPERATIONS)['change-nic']['ask']>

const TIMEOUT_MS = 30_000

/** Afterwards the guest has the NIC, or does not have it. */
export async function changeNic(
  { driver, attempts, metadata }: Compute,
  { operation, attach, detach }: Ask,
): Promise<Record<string, never>> {
  const { interfaces } = driver
  if (interfaces === undefined)
    throw new Failure('unsupported', `Driver '${driver.name}' cannot attach or detach interfaces.`)
  const id = operation.serverId as InstanceId
  if ((await attempts.begin(id, operation.attempt)) !== undefined)
    throw new Failure('conflict', `The host knows a newer attempt of instance ${id}.`)
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  if (attach !== undefined) {
    await interfaces.attach(id, nicSpec(attach), signal)
    await metadata?.attach(id, attach)
  }
  if (detach !== undefined) {
    await interfaces.detach(id, nicSpec(detach), signal)
    await metadata?.detach(id, detach.portId)
  }
  return {}
}

/** Afterwards those of these ports that are here, which the answer names, let through what they say. */
export async function filterPorts(
  { driver, metadata }: Compute,
  { ports }: { readonly ports: readonly PortFilter[] },
): Promise<Static<(typeof HOST_OPERATIONS)['filter-ports']['answer']>> {
  if (driver.firewall === undefined)
    throw new Failure('unsupported', `Driver '${driver.name}' does not enforce security groups.`)
  const filters = ports.map(({ serverId, nic, ...filter }) => {
    return { instance: serverId as InstanceId, nic: nicSpec(nic), ...filter }
  })
  const applied = await driver.firewall.apply(filters, AbortSignal.timeout(TIMEOUT_MS))
  for (const { serverId, nic } of ports)
    if (applied.includes(nic.portId)) await metadata?.renew(serverId as InstanceId, nic)
  return { applied: [...applied] }
}
