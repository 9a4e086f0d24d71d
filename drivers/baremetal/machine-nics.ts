import { inOrder, type MachineNics } from '../machine-nics.ts'
import type { BaremetalHost } from './host.ts'
import { nicsOf } from './nodes/node.ts'

/** Servers' ports are a machine's NICs: the one that it boots by first, the others in the order of inspection. */
export function baremetalMachineNics({ nodes }: BaremetalHost): MachineNics {
  return {
    macAddresses: async (id, ports, signal) => {
      signal.throwIfAborted()
      return inOrder(ports, nicsOf(nodes.get(id)))
    },
  }
}
