import type { VolumeId } from '#common/ids.ts'
import type { Logger } from '#common/log.ts'
import type { Owner } from '../driver.ts'
import type { InstanceLocks } from '../instance-locks.ts'
import type { KeyedLock } from '../keyed-lock.ts'
import type { Cloud } from './cloud/cloud.ts'
import type { ComputeVersions } from './compute/compute-versions.ts'
import type { ServerView } from './compute/server-view.ts'
import type { CloudImages } from './image/cloud-images.ts'
import type { Keypairs } from './map/keypairs.ts'
import type { CloudNetworks } from './network/cloud-networks.ts'
import type { SecurityGroups } from './network/security-groups.ts'
import type { Records } from './records.ts'
import type { CloudFloatingIps } from './routing/cloud-floating-ips.ts'
import type { CloudRouters } from './routing/cloud-routers.ts'
import type { Outsides } from './routing/outside.ts'
import type { NestedSettings } from './settings.ts'
import type { PendingCreates } from './volumes/pending-creates.ts'

/** The services that every operation of the nested driver uses; built once by `createNestedDriver`. */
export interface NestedHost {
  readonly owner: Owner
  readonly settings: NestedSettings
  readonly cloud: Cloud
  readonly versions: ComputeVersions
  readonly view: ServerView
  readonly records: Records
  readonly images: CloudImages
  readonly networks: CloudNetworks
  readonly routers: CloudRouters
  readonly floatingIps: CloudFloatingIps
  readonly outsides: Outsides
  readonly groups: SecurityGroups
  readonly keypairs: Keypairs
  readonly locks: InstanceLocks
  /** Of volumes and snapshots. */
  readonly pendingCreates: PendingCreates
  readonly volumeLocks: KeyedLock<VolumeId>
  readonly logger: Logger | undefined
}
