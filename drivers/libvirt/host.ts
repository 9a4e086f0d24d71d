import type { InstanceId } from '#common/ids.ts'
import type { Logger } from '#common/log.ts'
import type { Owner } from '../driver.ts'
import type { ImageCache } from '../image-cache.ts'
import type { InstanceLocks } from '../instance-locks.ts'
import type { KeyedLock } from '../keyed-lock.ts'
import type { DeviceCalls } from './domains/device-calls.ts'
import type { DomainCalls } from './domains/domain-calls.ts'
import type { VirtType } from './domains/domain-xml.ts'
import type { FilterCalls } from './firewall/filter-calls.ts'
import { type InstanceFiles, instanceFiles } from './instance-files.ts'
import type { HostNetworks } from './networks/host-networks.ts'
import type { CpuSettings } from './placement/cpu-settings.ts'
import type { LentDevices } from './placement/pci-devices.ts'
import type { LibvirtSession } from './session.ts'
import type { LibvirtAddress, PeerAddress } from './uri.ts'

/** What every operation of the libvirt driver works with; built once by `createLibvirtDriver`. */
export interface LibvirtHost {
  readonly owner: Owner
  readonly stateDirectory: string
  /** Where this and other hosts have their state directories; undefined: none sees another's. */
  readonly sharedFolder: string | undefined
  readonly address: LibvirtAddress
  /** How the daemons of other hosts reach this host's. */
  readonly peer: PeerAddress
  /** For events and for whatever is answered at once. */
  readonly session: LibvirtSession
  /** For what takes the daemon a second or more: one connection has five calls under way at most. */
  readonly slowSession: LibvirtSession
  readonly domains: DomainCalls
  readonly devices: DeviceCalls
  readonly networks: HostNetworks
  readonly filters: FilterCalls
  readonly images: ImageCache
  readonly locks: InstanceLocks
  readonly cpus: CpuSettings
  readonly lentDevices: readonly LentDevices[]
  /** Held while CPUs, pages and devices are given to a guest. */
  readonly placing: KeyedLock<'all'>
  /** Instances whose domain is gone and whose networks and files are being removed. */
  readonly leaving: Set<InstanceId>
  /** Settled once: how guests run here. */
  readonly virtType: (signal: AbortSignal) => Promise<VirtType>
  readonly logger: Logger | undefined
}

export function filesOf(host: LibvirtHost, id: InstanceId): InstanceFiles {
  return instanceFiles(host.stateDirectory, id)
}
