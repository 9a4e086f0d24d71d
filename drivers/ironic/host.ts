import type { Logger } from '#common/log.ts'
import type { PowerState } from '#common/states/instance-states.ts'
import type { Owner } from '../driver.ts'
import type { ImageCache } from '../image-cache.ts'
import type { InstanceLocks } from '../instance-locks.ts'
import type { PowerListener } from '../power-watch.ts'
import type { IronicClient } from './client.ts'
import type { ImageServer } from './image-server.ts'

/** The services that every operation of the ironic driver uses; built once by `createIronicDriver`. */
export interface IronicHost {
  readonly owner: Owner
  readonly client: IronicClient
  readonly images: ImageCache
  readonly imageServer: ImageServer
  readonly locks: InstanceLocks
  readonly listeners: Set<PowerListener>
  /** The last reported states, by instance. */
  readonly lastReported: Map<string, PowerState>
  /** How long ironic may take to bring a node to another state. */
  readonly deployMs: number
  readonly hostname: string
  readonly logger: Logger | undefined
}
