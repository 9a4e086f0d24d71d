import type { CellId, HostId, ImageId, InstanceId } from '#common/ids.ts'
import type { Task, VmState } from '#common/states/instance-states.ts'
import type { IntentAction } from '#common/states/intent-actions.ts'
import type { Fault, FlavorSnapshot } from '#openapi/wire/instance.ts'
import type { RequestedProperties } from '../boot/requested-properties.ts'

/** One address of a server, in the words of the API's `addresses`. */
export interface ServerAddress {
  readonly version: 4 | 6
  readonly addr: string
  readonly 'OS-EXT-IPS:type': 'fixed' | 'floating'
  readonly 'OS-EXT-IPS-MAC:mac_addr': string
}

/** A volume of a server, as the server's own view names it. */
export interface AttachedVolume {
  readonly id: string
  readonly deletesVolume: boolean
  /** The server starts from it; absent: it does not. */
  readonly isRoot?: boolean
}

/** The last known view of a server, complete whether its cell can be reached or not; what every read shows. */
export interface ServerRecord {
  readonly id: InstanceId
  readonly projectId: string
  readonly userId: string
  /** Null while no cell has it, and when none could build it. */
  readonly cellId: CellId | null
  readonly attempt: number
  readonly version: number
  readonly name: string
  readonly hostname: string
  readonly description: string | null
  readonly metadata: Readonly<Record<string, string>>
  readonly tags: readonly string[]
  readonly isLocked: boolean
  readonly lockedReason: string | null
  /** Who locked it; null while it is not locked. */
  readonly lockedBy: 'owner' | 'admin' | null
  readonly flavor: FlavorSnapshot
  readonly imageId: ImageId | null
  readonly keyName: string | null
  readonly configDrive: boolean
  /** By network name, in the order of the server's interfaces. */
  readonly addresses: Readonly<Record<string, readonly ServerAddress[]>>
  /** Names. */
  readonly securityGroups: readonly string[]
  readonly reservationId: string
  readonly launchIndex: number
  readonly diskConfig: 'AUTO' | 'MANUAL'
  /** The zone that the request named; null: any. */
  readonly requestedZone: string | null
  readonly accessIPv4: string | null
  readonly accessIPv6: string | null
  readonly vmState: VmState
  /** What waits for its cell to be reached; null: nothing does. */
  readonly intent: IntentAction | null
  readonly requested: RequestedProperties
  readonly volumes: readonly AttachedVolume[]
  /** The task of a delete, or of another request that waits, is shown at once, before the cell reports it. */
  readonly taskState: Task | null
  /** Nova's number. */
  readonly powerState: number
  readonly hostId: HostId | null
  readonly host: string | null
  readonly hypervisorHostname: string | null
  readonly instanceName: string | null
  readonly zone: string | null
  readonly fault: Fault | null
  readonly launchedAt: Date | null
  readonly terminatedAt: Date | null
  readonly createdAt: Date
  readonly updatedAt: Date
  /** Set once the server is gone; its row stays for the retention time. */
  readonly deletedAt: Date | null
}

/** One server, with what lists do not tell. */
export interface FoundServer extends ServerRecord {
  /** The group it is in; null: none. */
  readonly groupId: string | null
}
