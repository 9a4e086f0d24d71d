import { DEDICATED_CPUS, LARGE_PAGES, largePagesOf } from '#common/hardware-resources.ts'
import { SMALL_PAGE_KIB } from '#common/page-size.ts'
import type { LibvirtHost } from '../host.ts'
import { nodeCalls } from '../node-calls.ts'
import type { HostNode } from './host-nodes.ts'
import { devicesByClass, type PciDevice, pciDevices } from './pci-devices.ts'

const KIB_PER_MIB = 1024

/** The PCI devices that guests of this host may be lent, lent ones included. */
export async function assignableDevices(
  { session, passthroughDevices }: LibvirtHost,
  signal: AbortSignal,
): Promise<readonly PciDevice[]> {
  if (passthroughDevices.length === 0) return []
  return pciDevices(await nodeCalls(session).pciDevices(signal), passthroughDevices)
}

/** The total hardware of the host that flavors request by name: dedicated CPUs, large pages, devices. */
export async function hardwareInventory(
  host: LibvirtHost,
  nodes: readonly HostNode[],
  signal: AbortSignal,
): Promise<Readonly<Record<string, number>>> {
  const devices = await assignableDevices(host, signal)
  return {
    [DEDICATED_CPUS]: dedicatedCpus(host, nodes).length,
    ...largePages(nodes),
    ...devicesByClass(devices, host.passthroughDevices),
  }
}

/** Those of the machine's CPUs that are set apart for guests that ask for their own. */
export function dedicatedCpus(
  { cpus: { dedicated } }: LibvirtHost,
  nodes: readonly HostNode[],
): readonly number[] {
  return nodes.flatMap(({ cpus }) => cpus).filter((cpu) => dedicated.includes(cpu))
}

function largePages(nodes: readonly HostNode[]): Readonly<Record<string, number>> {
  const amounts: Record<string, number> = { [LARGE_PAGES]: 0 }
  for (const [kib, count] of nodes.flatMap(({ pages }) => [...pages])) {
    if (kib <= SMALL_PAGE_KIB) continue
    const mib = (count * kib) / KIB_PER_MIB
    for (const name of [LARGE_PAGES, largePagesOf(kib)]) amounts[name] = (amounts[name] ?? 0) + mib
  }
  return amounts
}
