import { changedFormat } from '#common/changed-format.ts'
import { errorChain, isFailure } from '#common/errors.ts'
import { POWER_STATES } from '#common/states/instance-states.ts'
import { capabilitiesOf, type HostInventory, type InstanceReport } from '#drivers/driver.ts'
import type { HostReport, ReportedGuest } from '#openapi/wire/host.ts'
import type { Compute } from './compute.ts'
import { driverPart } from './driver-part.ts'
import { reachedStores } from './volumes/stores.ts'

const BACKEND_TIMEOUT_MS = 20_000

/**
 * Looks at the backend and says all there is to say of the host, of its guests as many as a report names and those that
 * come after `after`. A backend that is gone is reported, not thrown.
 */
export async function hostReport(compute: Compute, after = ''): Promise<HostReport> {
  const { host, driver, fence, startedAt, reportedGuestsMax } = compute
  const [seen, stores] = await Promise.all([readBackend(compute), reachedStores(compute)])
  if (seen.inventory !== null) compute.lastInventory = seen.inventory
  compute.lastReport = { down: seen.down, guests: seen.instances }
  const countsNodes = host.offer.hasNumaProviders === true
  const guests = seen.instances
    .filter(({ id }) => id > after)
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
  return {
    hostId: host.id,
    name: host.name,
    zone: host.zone,
    driver: driver.name,
    simulated: driver.simulated,
    capabilities: [...capabilitiesOf(driver), ...networkCapability(driver)],
    down: seen.down,
    inventory:
      compute.lastInventory === null ? null : wireInventory(compute.lastInventory, compute),
    ...(stores && { stores }),
    instances: guests
      .slice(0, reportedGuestsMax)
      .map(({ id, powerState, endedWithHost = false, fault, noSpace, released, hostNodes }) => ({
        id,
        powerState: POWER_STATES[powerState],
        endedWithHost: endedWithHost || fence.hasEnded(id),
        ...(fault !== undefined && { fault }),
        ...(noSpace !== undefined && { noSpace }),
        ...wireReleased(released),
        ...(countsNodes && hostNodes && { hostNodes: [...hostNodes] }),
      })),
    ...(guests.length > reportedGuestsMax && { hasMore: true }),
    // Once the fence has stopped all guests, nothing runs of before, as if the machine had started then.
    startedAt: Math.max(startedAt, fence.stoppedAt),
  }
}

/** As the cell is told of them. */
export function wireReleased(
  released: InstanceReport['released'],
): Pick<ReportedGuest, 'released'> {
  if (released === undefined) return {}
  return {
    released: released.map(({ id: volumeId, attachmentId }) => ({ volumeId, attachmentId })),
  }
}

interface Seen {
  readonly down: string | null
  readonly inventory: HostInventory | null
  readonly instances: readonly InstanceReport[]
}

async function readBackend({ driver, log }: Compute): Promise<Seen> {
  const signal = AbortSignal.timeout(BACKEND_TIMEOUT_MS)
  try {
    const [inventory, instances] = await Promise.all([
      driver.inventory(signal),
      driver.list(signal),
    ])
    return { down: null, inventory, instances }
  } catch (error) {
    const down = signal.aborted
      ? `The backend has not answered within ${BACKEND_TIMEOUT_MS / 1_000} seconds.`
      : errorChain(error)
    if (!isFailure(error, 'unavailable')) log.error({ error: down }, 'backend could not be read')
    return { down, inventory: null, instances: [] }
  }
}

function wireInventory(
  inventory: HostInventory,
  { driver, host: { address, offer } }: Pick<Compute, 'driver' | 'host'>,
): NonNullable<HostReport['inventory']> {
  const { cpu, imageFormats, traits, hypervisor, machines, ...more } = inventory
  const { externalNetworks, machineSegments, machineTraits, ...others } = more
  const { extraSpecs, imageProperties, numa, ...amounts } = others
  return {
    ...amounts,
    ...offer,
    hypervisor: { ...hypervisor, address },
    cpu: { ...cpu, features: [...cpu.features], topology: { ...cpu.topology } },
    imageFormats: [
      ...imageFormats,
      ...(driver.diskChanges === undefined ? [] : imageFormats.map(changedFormat)),
    ],
    traits: [...traits],
    ...(numa && { numa: numa.map((node) => ({ ...node, pages: { ...node.pages } })) }),
    ...(machines && { machines: [...machines] }),
    ...(machineSegments && { machineSegments: [...machineSegments] }),
    ...(machineTraits && { machineTraits: machineTraits.map((traits) => [...traits]) }),
    ...(extraSpecs && { extraSpecs: [...extraSpecs] }),
    ...(imageProperties && { imageProperties: [...imageProperties] }),
    ...(externalNetworks && {
      externalNetworks: externalNetworks.map(({ name, cidrs }) => ({ name, cidrs: [...cidrs] })),
    }),
  }
}

/** Gateways offer routers and floating IPs where some host has it. */
function networkCapability({ networkEngine }: Compute['driver']): readonly string[] {
  return networkEngine === undefined ? [] : [`network-${networkEngine}`]
}

const UPTIME_TIMEOUT_MS = 5_000

/** How long this machine has been up, as its `uptime` prints it. Throws `unsupported` where the driver cannot tell. */
export async function uptime({ driver }: Compute): Promise<{ text: string }> {
  const text = await driverPart(driver, 'uptime').read(AbortSignal.timeout(UPTIME_TIMEOUT_MS))
  return { text: text.trimEnd() }
}
