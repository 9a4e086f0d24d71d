import type { Logger } from '#common/log.ts'
import type { ImageCache } from '../image-cache.ts'
import type { InstanceLocks } from '../instance-locks.ts'
import type { PowerListener } from '../power-watch.ts'
import type { BootServer } from './netboot/boot-server.ts'
import type { LiveBoots } from './netboot/live-boots.ts'
import type { NodePool } from './nodes/node-pool.ts'
import type { SerialLines } from './serial/serial-lines.ts'

/** The services that every operation of the baremetal driver uses; built once by `createBaremetalDriver`. */
export interface BaremetalHost {
  readonly images: ImageCache
  readonly nodes: NodePool
  readonly bootServer: BootServer
  readonly liveBoots: LiveBoots
  readonly lines: SerialLines
  readonly locks: InstanceLocks
  readonly listeners: Set<PowerListener>
  /** False: a server's data stay on its disks for the next one. */
  readonly cleans: boolean
  /** How long a machine may take for one task in the ramdisk. */
  readonly taskMs: number
  /** How long a BMC may be silent while its machine does one. */
  readonly retryForMs: number
  /** How ports of servers reach their networks: as NICs on the site's, or also as ports of the cell's OVN. */
  readonly network: 'host' | 'ovn'
  /** The name of the network from which machines boot. */
  readonly provisioningNetwork: string
  readonly hostname: string
  readonly logger: Logger | undefined
}
