import type { InstanceReport } from '../../driver.ts'
import type { LibvirtHost } from '../host.ts'
import { type InstanceRecord, listInstanceRecords } from '../instance-record.ts'
import { nodeCalls } from '../node-calls.ts'
import { hostNodes } from './host-nodes.ts'

/** The reports, with the NUMA nodes of the host on which guests are that have their place there. */
export async function withHostNodes(
  host: LibvirtHost,
  reports: readonly InstanceReport[],
  signal: AbortSignal,
): Promise<readonly InstanceReport[]> {
  const records = await listInstanceRecords(host.stateDirectory)
  const placed = [...records].filter(
    ([, { placement, boundTo }]) => placement !== undefined || boundTo !== undefined,
  )
  if (placed.length === 0) return reports
  const nodeOfCpu = placed.some(([, record]) => isPinnedOnly(record))
    ? await nodesOfCpus(host, signal)
    : new Map<number, number>()
  const nodesOf = new Map(placed.map(([id, record]) => [id, hostNodesOf(record, nodeOfCpu)]))
  return reports.map((report) => {
    const found = nodesOf.get(report.id)
    return found === undefined ? report : { ...report, hostNodes: found }
  })
}

/** It has CPUs to itself, and sees no nodes. */
function isPinnedOnly({ placement = {}, isAdopted }: InstanceRecord): boolean {
  return isAdopted !== true && placement.nodes === undefined && placement.pins !== undefined
}

/** For each vCPU; undefined for a guest that may be anywhere. */
function hostNodesOf(
  record: InstanceRecord,
  nodeOfCpu: ReadonlyMap<number, number>,
): readonly number[] | undefined {
  const { boundTo, placement: { nodes, pins = [] } = {} } = record
  if (boundTo !== undefined) return boundTo
  if (nodes !== undefined) {
    const found: number[] = []
    for (const { hostNode, vcpus } of nodes) for (const vcpu of vcpus) found[vcpu] = hostNode
    return found
  }
  if (!isPinnedOnly(record)) return undefined
  const found = pins.flatMap((cpu) => nodeOfCpu.get(cpu) ?? [])
  return found.length === pins.length ? found : undefined
}

async function nodesOfCpus(
  { session }: LibvirtHost,
  signal: AbortSignal,
): Promise<ReadonlyMap<number, number>> {
  const nodes = hostNodes(await nodeCalls(session).capabilities(signal))
  return new Map(nodes.flatMap(({ id, cpus }) => cpus.map((cpu) => [cpu, id] as const)))
}
