import type { PortId } from '#common/ids.ts'
import { inOrder, type MachineNicMap, type MachineNics } from '../machine-nics.ts'
import type { IronicNic } from './client.ts'
import { getHeld } from './held-node.ts'
import type { IronicHost } from './host.ts'

export function ironicMachineNics(host: IronicHost): MachineNics {
  return {
    macAddresses: async (id, ports, signal) => {
      const { uuid } = await getHeld(host, id, signal)
      const ids = ports.map(({ portId }) => portId)
      return givenNics(ids, await host.client.nics(uuid, signal))
    },
  }
}

/**
 * Which NICs of its node a server's ports are: those that ironic has attached them to, the others in their order. Throws
 * `invalid` when there are too few.
 */
export function givenNics(ports: readonly PortId[], nics: readonly IronicNic[]): MachineNicMap {
  const attached = new Map(nics.map(({ vif, macAddress }) => [vif, macAddress]))
  const others = ports.filter((port) => !attached.has(port))
  const isFree = ({ vif }: IronicNic) => !ports.some((port) => port === vif)
  const free = nics.filter(isFree).map(({ macAddress }) => macAddress)
  if (others.length > free.length)
    inOrder(
      ports,
      nics.map(({ macAddress }) => macAddress),
    )
  const rest = inOrder(others, free)
  return new Map(ports.map((port) => [port, attached.get(port) ?? rest.get(port)!]))
}
