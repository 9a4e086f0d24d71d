import type { InstanceId } from '#common/ids.ts'
import { filesOf, type LibvirtHost } from '../host.ts'
import {
  type DomainSubject,
  type InstanceRecord,
  listInstanceRecords,
  writeInstanceRecord,
} from '../instance-record.ts'
import { nodeCalls } from '../node-calls.ts'
import { assignableDevices, dedicatedCpus } from './host-hardware.ts'
import { hostNodes } from './host-nodes.ts'
import { type GuestPlacement, placeGuest } from './place-guest.ts'
import { type RequestedPlacement, requestedPlacement } from './requested-placement.ts'

export interface PlacedGuest {
  readonly asked: RequestedPlacement
  readonly placement: GuestPlacement
  /** CPUs of the host for guests without ones of their own; empty: all. */
  readonly sharedCpus: readonly number[]
}

/** Where the instance would have its place now. Throws what `requestedPlacement` and `placeGuest` do. */
export async function placeFor(
  host: LibvirtHost,
  id: InstanceId,
  domain: DomainSubject,
  signal: AbortSignal,
): Promise<PlacedGuest> {
  const asked = requestedPlacement(domain)
  const isAnywhere = !asked.isDedicated && asked.nodes === null && asked.page === null
  const hasDevices = Object.keys(asked.devices).length > 0
  if (isAnywhere && !hasDevices && host.cpus.dedicated.length === 0)
    return { asked, placement: {}, sharedCpus: [] }
  const nodes = hostNodes(await nodeCalls(host.session).capabilities(signal))
  const cpus = nodes.flatMap((node) => node.cpus)
  const dedicated = dedicatedCpus(host, nodes)
  const sharedCpus = dedicated.length === 0 ? [] : cpus.filter((cpu) => !dedicated.includes(cpu))
  const devices = hasDevices ? await assignableDevices(host, signal) : []
  const others = await placementsOfOthers(host, id)
  const placement = placeGuest(asked, domain.flavor, { nodes, dedicated, devices, others })
  return { asked, placement, sharedCpus }
}

/** As `placeFor`; afterwards the instance's record says so, and no other instance has its CPUs, pages and devices. */
export async function placeOnHost(
  host: LibvirtHost,
  id: InstanceId,
  record: InstanceRecord,
  signal: AbortSignal,
): Promise<PlacedGuest> {
  return host.placing.run('all', signal, async () => {
    const placed = await placeFor(host, id, record.domain, signal)
    const { placement: before, ...rest } = record
    const { placement } = placed
    const isPlaced = Object.keys(placement).length > 0
    if (isPlaced || before !== undefined)
      await writeInstanceRecord(filesOf(host, id), isPlaced ? { ...rest, placement } : rest)
    return placed
  })
}

async function placementsOfOthers(
  host: LibvirtHost,
  id: InstanceId,
): Promise<readonly GuestPlacement[]> {
  const records = await listInstanceRecords(host.stateDirectory)
  records.delete(id)
  return [...records.values()].flatMap(({ placement }) => placement ?? [])
}
