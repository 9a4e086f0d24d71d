import type { Machine } from '../netboot/run-in-ramdisk.ts'
import type { Node } from './node.ts'

/** The parts of a node that work in the ramdisk needs. */
export function machineOf({ power, management, enrolled: { macAddress } }: Node): Machine {
  return { power, management, macAddress }
}
