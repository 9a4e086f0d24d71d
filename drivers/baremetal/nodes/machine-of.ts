import type { Machine } from '../netboot/run-in-ramdisk.ts'
import type { Node } from './node.ts'

/** What of a node works in the ramdisk. */
export function machineOf({ power, management, enrolled: { macAddress } }: Node): Machine {
  return { power, management, macAddress }
}
