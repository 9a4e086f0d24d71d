import type { InstanceId } from '#common/ids.ts'
import { filesOf, type LibvirtHost } from '../host.ts'
import {
  type DomainSubject,
  type InstanceRecord,
  listInstanceRecords,
  writeInstanceRecord,
} from '../instance-record.ts'
import { nodeCalls } from '../node-calls.ts'
import { type AskedPlacement, askedPlacement } from './asked-placement.ts'
import { hostNodes } from './host-nodes.ts'
import { type GuestPlacement, placeGuest } from './place-guest.ts'

export interface PlacedGuest {
  readonly asked: AskedPlacement
  readonly placement: GuestPlacement
  /** CPUs of the host for guests without ones of their own; empty: all. */
  readonly sharedCpus: readonly number[]
}

/** Where the instance would have its place now. Throws what `askedPlacement` and `placeGuest` do. */
export async function placeFor(
  host: LibvirtHost,
  id: InstanceId,
  domain: DomainSubject,
  signal: AbortSignal,
): Promise<PlacedGuest> {
  const asked = askedPlacement(domain)
  const isAnywhere = !asked.isDedicated && asked.nodes === null && asked.page === null
  if (isAnywhere && host.cpus.dedicated.length === 0)
    return { asked, placement: {}, sharedCpus: [] }
  const nodes = hostNodes(await nodeCalls(host.session).capabilities(signal))
  const cpus = nodes.flatMap((node) => node.cpus)
  const dedicated = cpus.filter((cpu) => host.cpus.dedicated.includes(cpu))
  const sharedCpus = dedicated.length === 0 ? [] : cpus.filter((cpu) => !dedicated.includes(cpu))
  const taken = await takenByOthers(host, id)
  const placement = placeGuest(asked, domain.flavor, { nodes, dedicated, taken })
  return { asked, placement, sharedCpus }
}

/** As `placeFor`; afterwards the instance's record says so, and no other instance has its CPUs. */
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

async function takenByOthers(host: LibvirtHost, id: InstanceId): Promise<ReadonlySet<number>> {
  const records = await listInstanceRecords(host.stateDirectory)
  records.delete(id)
  return new Set([...records.values()].flatMap(({ placement }) => placement?.pins ?? []))
}
