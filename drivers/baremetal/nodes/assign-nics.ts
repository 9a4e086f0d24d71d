import { Failure } from '#common/errors.ts'
import { isGeneratedMac } from '#common/mac-address.ts'
import { inOrder, type MachineNicMap, type MachinePort } from '../../machine-nics.ts'
import type { SegmentNic } from '../../nodes.ts'
import { type Node, nicsOf } from './node.ts'

/**
 * Which NIC of its machine each port of a server is. On a host without networks of its own these are the NICs in their
 * order; throws `invalid` when there are fewer. On OVN each port is a NIC on the network's segment, the one that has the
 * port's MAC address if a user chose that, and never the one by which the machine boots; throws `no-capacity` when there
 * is none.
 */
export function assignNics(
  node: Node,
  ports: readonly MachinePort[],
  network: 'host' | 'ovn',
): MachineNicMap {
  if (network === 'host')
    return inOrder(
      ports.map(({ portId }) => portId),
      nicsOf(node),
    )
  const free = [...(node.enrolled.nics ?? [])]
  const chosen = ports.filter(({ macAddress }) => !isGeneratedMac(macAddress))
  const others = ports.filter(({ macAddress }) => isGeneratedMac(macAddress))
  const found = new Map([...chosen, ...others].map((port) => [port.portId, taken(port, free)]))
  return new Map(ports.map(({ portId }) => [portId, found.get(portId)!]))
}

/** The MAC address of the NIC that fits the port, which is not free afterwards. */
function taken(port: MachinePort, free: SegmentNic[]): string {
  const { portId, segment, macAddress } = port
  if (segment === undefined)
    throw new Failure(
      'no-capacity',
      `Port ${portId} is on a tenant network, which no machine reaches. Use a provider network.`,
    )
  const isChosen = !isGeneratedMac(macAddress)
  const position = free.findIndex(
    (nic) => nic.segment === segment && (!isChosen || nic.macAddress === macAddress),
  )
  const [nic] = position < 0 ? [] : free.splice(position, 1)
  if (nic !== undefined) return nic.macAddress
  throw new Failure(
    'no-capacity',
    isChosen
      ? `Port ${portId} has the MAC address ${macAddress}, which is that of no free machine's NIC on ${segment}. Boot with a port without a chosen MAC address.`
      : `Port ${portId} is on ${segment}, where no free machine has a NIC that no other port of the server is.`,
  )
}
