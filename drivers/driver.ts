import type { SizedFlavor } from '#common/flavor-resources.ts'
import type { CellId, HostId, ImageId, InstanceId, NetworkId, PortId } from '#common/ids.ts'
import type { NumaNode } from '#common/numa.ts'
import type { PowerState } from '#common/states/instance-states.ts'
import type { ImageCacheRef } from '#openapi/wire/instance.ts'
import type { AddressAnnouncer } from './address-announcer.ts'
import type { Adopt } from './adopt.ts'
import type { BackupChanges } from './backup-changes.ts'
import type { Console, ConsoleKinds, ConsoleLog } from './consoles.ts'
import type { Downstream } from './downstream.ts'
import type { Firewall } from './firewall.ts'
import type { GuestConfig } from './guest-config.ts'
import type { CrashDump, Diagnostics } from './guest-diagnostics.ts'
import type { GuestMetadata } from './guest-metadata.ts'
import type { HostMetrics } from './host-metrics.ts'
import type { ImageCopies } from './image-copies.ts'
import type { IoErrors } from './io-errors.ts'
import type { Labels } from './labels.ts'
import type { MachineClass } from './machine-class.ts'
import type { MachineNics } from './machine-nics.ts'
import type { LiveMove, Move } from './move.ts'
import type { NetworkStatistics } from './network-statistics.ts'
import type { Nodes } from './nodes.ts'
import type { PassthroughAttributes } from './passthrough-attributes.ts'
import type { Password } from './password.ts'
import type { Rescue } from './rescue.ts'
import type { ExternalNetwork, Routing } from './routing.ts'
import type { DiskChanges, Snapshot } from './snapshot.ts'
import type { Topology } from './topology.ts'
import type { Tunnels } from './tunnels.ts'
import type { Uptime } from './uptime.ts'
import type { AttachmentSpec, ReleasedVolume, Volumes } from './volumes.ts'

/**
 * The abilities of a compute backend: a core that every driver has, and optional parts that are present exactly where
 * the backend has the ability. Every method is idempotent, honours `signal` at each await, and knows no cells,
 * databases or HTTP.
 *
 * Failures: `unavailable` means that the outcome is unknown (no answer of the backend, connection lost), and the caller
 * repeats the request. Any other failure of `spawn` means that no part of the instance is left on the host.
 */
export interface Driver extends AsyncDisposable {
  readonly name: DriverName
  /**
   * True when no guest really runs. A simulated host never takes a boot that asked for a real image: its hypervisor
   * type is `fake`, and it refuses images whose property `hypervisor_type` is not `fake`.
   */
  readonly simulated: boolean
  /** The total resources of the host, without regard to usage. Throws `unavailable` while the backend is down. */
  inventory(signal: AbortSignal): Promise<HostInventory>
  /** Afterwards the instance runs. Spawning one that already exists makes it run and changes nothing else. */
  spawn(spec: InstanceSpec, signal: AbortSignal): Promise<void>
  /** Afterwards nothing of the instance is left: no guest, disk, lease, port. Destroying an absent one is a no-op. */
  destroy(id: InstanceId, signal: AbortSignal): Promise<void>
  /** Every instance that carries this driver's owner stamp, and no other, in any power state. */
  list(signal: AbortSignal): Promise<readonly InstanceReport[]>
  /** Afterwards the guest runs. Throws `not-found` when the instance does not exist. */
  start(id: InstanceId, signal: AbortSignal): Promise<void>
  /** Afterwards the guest is off: asked to shut down first, cut off after `graceMs` (0: at once). */
  stop(id: InstanceId, graceMs: number, signal: AbortSignal): Promise<void>
  /** Afterwards the guest has started again. `soft` asks the guest and falls back to `hard` after `graceMs`. */
  reboot(id: InstanceId, how: RebootKind, graceMs: number, signal: AbortSignal): Promise<void>
  /** Calls `listener` on every change of power state and every late release of a volume that the backend tells of, until disposed. Never replays. */
  watch(listener: (report: InstanceReport) => void): AsyncDisposable
  readonly pause?: Pause
  readonly suspend?: Suspend
  readonly rescue?: Rescue
  readonly password?: Password
  readonly crashDump?: CrashDump
  readonly diagnostics?: Diagnostics
  readonly topology?: Topology
  readonly uptime?: Uptime
  readonly metrics?: HostMetrics
  readonly interfaces?: Interfaces
  readonly firewall?: Firewall
  readonly routing?: Routing
  readonly labels?: Labels
  readonly guestMetadata?: GuestMetadata
  readonly networkStatistics?: NetworkStatistics
  readonly consoleLog?: ConsoleLog
  readonly console?: Console
  readonly consoleKinds?: ConsoleKinds
  readonly snapshot?: Snapshot
  readonly diskChanges?: DiskChanges
  readonly backupChanges?: BackupChanges
  readonly rebuild?: Rebuild
  readonly resize?: Resize
  readonly move?: Move
  readonly liveMove?: LiveMove
  readonly adopt?: Adopt
  readonly nodes?: Nodes
  readonly machineNics?: MachineNics
  readonly imageCopies?: ImageCopies
  readonly volumes?: Volumes
  readonly ioErrors?: IoErrors
  readonly below?: Downstream
  /** What joins its guests' ports to networks that span hosts; absent: each host has bridges of its own, or none. */
  readonly networkEngine?: 'ovn'
  /** Those of a host that a network engine joins; absent: it has none, or they cannot be tested. */
  readonly tunnels?: Tunnels
  /** Of a host that a network engine joins; absent: it has none, or its switch is out of reach. */
  readonly addressAnnouncer?: AddressAnnouncer
}

export const DRIVER_NAMES = ['baremetal', 'docker', 'fake', 'ironic', 'libvirt', 'nested'] as const
export type DriverName = (typeof DRIVER_NAMES)[number]

/** The optional parts, by the name of the property that holds them. The matrix in the docs is made from this. */
export const CAPABILITIES = [
  'pause',
  'suspend',
  'rescue',
  'password',
  'crashDump',
  'diagnostics',
  'topology',
  'uptime',
  'metrics',
  'interfaces',
  'firewall',
  'routing',
  'labels',
  'guestMetadata',
  'networkStatistics',
  'consoleLog',
  'console',
  'consoleKinds',
  'snapshot',
  'diskChanges',
  'backupChanges',
  'rebuild',
  'resize',
  'move',
  'liveMove',
  'adopt',
  'nodes',
  'machineNics',
  'imageCopies',
  'volumes',
  'ioErrors',
  'below',
] as const
export type Capability = (typeof CAPABILITIES)[number]

/** The optional parts that the driver has. */
export function capabilitiesOf(driver: Driver): readonly Capability[] {
  return CAPABILITIES.filter((part) => driver[part] !== undefined)
}

export interface Pause {
  /** Afterwards the guest is frozen in memory. Throws `conflict` when it is not running. */
  pause(id: InstanceId, signal: AbortSignal): Promise<void>
  /** Afterwards the guest runs on. */
  unpause(id: InstanceId, signal: AbortSignal): Promise<void>
}

export interface Suspend {
  /** Afterwards the guest is off and its memory on disk. Throws `conflict` when it is not running. */
  suspend(id: InstanceId, signal: AbortSignal): Promise<void>
  /** Afterwards the guest runs on from where it was. */
  resume(id: InstanceId, signal: AbortSignal): Promise<void>
}

export interface Interfaces {
  /** Afterwards the instance has the NIC, now and at every start. One that it has stays as it is. */
  attach(id: InstanceId, nic: NicSpec, signal: AbortSignal): Promise<void>
  /** Afterwards the instance does not have the NIC. Throws `conflict` when the guest does not release it. */
  detach(id: InstanceId, nic: NicSpec, signal: AbortSignal): Promise<void>
}

/** A disk's content, kept on the host until it is disposed. */
export interface DiskImage extends AsyncDisposable {
  /** Glance's name, or `docker` for what it calls a raw disk in a docker container. */
  readonly diskFormat: 'qcow2' | 'raw' | 'docker'
  readonly sizeBytes: number
  content(): AsyncIterable<Uint8Array>
  /** Afterwards the content is the file `to`, which nothing of the driver changes or removes. Absent: the content is in no file of the host. */
  moveTo?(to: string): Promise<void>
}

export interface Rebuild {
  /**
   * Afterwards the instance has disks made again from the spec's image, and what the spec says; its interfaces and volumes
   * stay. A volume that it starts from keeps its size, and its content unless it is to be reimaged; while that is half
   * written, no guest gets it. A failure before the old disks are given up leaves it as it was. Throws `not-found`; `invalid`
   * for the image, also for one that is larger than the volume; `conflict` while another guest has the volume.
   */
  rebuild(spec: InstanceSpec, how: RebuildOptions, signal: AbortSignal): Promise<void>
}

export interface RebuildOptions {
  /** The ephemeral disk keeps its content. */
  readonly keepsEphemeral: boolean
  /** False: the guest is off afterwards. */
  readonly runs: boolean
  /** The volume that it starts from gets the content of the image; absent: it keeps its own, or there is none. */
  readonly reimages?: boolean
}

/** Each may be repeated. Interfaces and config drive stay as they are. */
export interface Resize {
  /**
   * Afterwards the guest has started again with the spec's flavor, or is off with it, and what the disks were is kept.
   * Throws `invalid`, and changes nothing, when a disk would shrink.
   */
  resize(spec: InstanceSpec, how: ResizeOptions, signal: AbortSignal): Promise<void>
  /** Afterwards what the disks were before is gone. */
  confirm(id: InstanceId, signal: AbortSignal): Promise<void>
  /** Afterwards the disks are what they were before, and the guest has the spec's flavor, its former one. */
  revert(spec: InstanceSpec, how: ResizeOptions, signal: AbortSignal): Promise<void>
}

export interface ResizeOptions {
  /** False: the guest is off afterwards. */
  readonly runs: boolean
  /** How long the guest may take to shut down by itself. */
  readonly graceMs: number
}

/** Stamped on everything a driver makes; it lists, counts and destroys only what carries both. */
export interface Owner {
  readonly cellId: CellId
  readonly hostId: HostId
}

/** The environment of a driver, besides its own settings. */
export interface DriverEnvironment {
  readonly owner: Owner
  /** A folder of the host's own, kept over restarts. */
  readonly stateDirectory: string
  readonly images: ImageSource
}

/** Where a driver gets image content. */
export interface ImageSource {
  /** Streams the content as it is stored. Throws `not-found`, or `unavailable` when the service is silent. */
  open(image: ImageFile, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>
  /** Called with an image whose bytes, from the cell's cache, were not those promised. */
  reportDamaged?(image: ImageFile, signal: AbortSignal): Promise<void>
}

export type RebootKind = 'soft' | 'hard'

export interface InstanceReport {
  readonly id: InstanceId
  readonly powerState: PowerState
  /** Off because its host went off, and not because guest, user or operator wanted it. Only `list` can know. */
  readonly endedWithHost?: boolean
  /** Why its backend counts it as failed, for operators; absent: it does not. */
  readonly fault?: string
  /** Which disk has no room, so that its backend has paused it, for operators; absent: none. Only `list` can know. */
  readonly noSpace?: string
  readonly released?: readonly ReleasedVolume[]
  /** For each vCPU the NUMA node of the host that it is on; absent: it may be on any. Only `list` can know. */
  readonly hostNodes?: readonly number[]
}

export interface HostInventory {
  readonly vcpus: number
  readonly memoryMb: number
  readonly diskGb: number
  /** Of further classes of Placement, such as `PCPU`; absent: none, now or ever. */
  readonly resources?: Readonly<Record<string, number>>
  /** The parts of the machine whose CPUs and memory are close to each other; absent: it has none, or the backend does not say. */
  readonly numa?: readonly NumaNode[]
  /** The amounts are a quota, of which no part can be promised twice. */
  readonly isQuota?: true
  /** How many instances there may be in all; absent: as many as fit. */
  readonly instancesMax?: number
  /** Whole machines, each for a server that asks for its class; present: nothing can be had of the amounts above. */
  readonly machines?: readonly MachineClass[]
  /**
   * The networks of the site that NICs of the machines are on, such as `SITE:7`: their servers can have ports on these
   * alone. Absent from other hosts, and where the site alone knows.
   */
  readonly machineSegments?: readonly string[]
  /** The traits of machines, each list of some; absent: there are no machines. `traits` are those of all. */
  readonly machineTraits?: readonly (readonly string[])[]
  /** Extra specs of flavors about hardware that have an effect on guests, such as `hw:cpu_policy`; absent: all have. */
  readonly extraSpecs?: readonly string[]
  /**
   * Properties of images about hardware that have an effect on guests: names, or `NAME=VALUE` where no other value has;
   * absent: all have.
   */
  readonly imageProperties?: readonly string[]
  /** Servers get flavors of the backend, with the same extra specs about hardware; absent: they get the flavor itself. */
  readonly hasOwnFlavors?: true
  /** The networks outside to which `routing` leads, by the names that operators give physical networks; absent: none. */
  readonly externalNetworks?: readonly ExternalNetwork[]
  /** Why `routing` leads nowhere, for operators and users; absent: it does. */
  readonly routingProblem?: string
  readonly hypervisor: {
    /** As Nova shows it: `QEMU`, `KVM`, `fake`. */
    readonly type: string
    /** major * 1000000 + minor * 1000 + micro, as libvirt and Nova count. */
    readonly version: number
    readonly hostname: string
  }
  readonly architecture: string
  readonly cpu: {
    readonly vendor: string
    readonly model: string
    readonly features: readonly string[]
    readonly topology: {
      readonly sockets: number
      readonly cores: number
      readonly threads: number
    }
  }
  /** Disk formats of images that can be booted, Glance's names. */
  readonly imageFormats: readonly string[]
  /** Placement trait names, such as `COMPUTE_IMAGE_TYPE_QCOW2`. */
  readonly traits: readonly string[]
}

export interface InstanceSpec {
  readonly id: InstanceId
  /** The user's name for the instance; never used as a name on the host. */
  readonly displayName: string
  readonly hostname: string
  readonly projectId: string
  readonly userId: string
  readonly flavor: FlavorSpec
  /** Where one of the volumes is the first disk, only its properties count: it is not read, and may be an image that is gone. */
  readonly image: ImageSpec
  readonly nics: readonly NicSpec[]
  /** Those that it has from the start, of stores that its host reaches; absent: none. */
  readonly volumes?: readonly AttachmentSpec[]
  /** Path inside the drive -> content; absent when the guest gets none. */
  readonly configDrive?: Readonly<Record<string, Uint8Array>>
  /** The user's request, for backends that pass it to the guest themselves. */
  readonly asked: GuestConfig
  /** Further properties that the user set, for backends that keep them; absent: none. */
  readonly remarks?: PassthroughAttributes
  /** For each vCPU the NUMA node of the host that it is to be on; absent: the driver decides. */
  readonly hostNodes?: readonly number[]
  /** Instances it shares the place with, or does not, for backends that are many places. */
  readonly neighbours?: { readonly same: readonly string[]; readonly different: readonly string[] }
}

export interface FlavorSpec extends SizedFlavor {
  readonly id: string
  readonly name: string
}

/** A content of the image service. */
export interface ImageFile {
  readonly id: ImageId
  readonly sizeBytes: number
  /** Lower-case hex SHA-256 of the content; what the cache is keyed and verified by. */
  readonly sha256: string
  /** Proof for the image service that this cell may read it now. */
  readonly ticket: string
  /** Where it may be read first; absent: at the image service alone. */
  readonly cache?: ImageCacheRef
}

export interface ImageSpec extends ImageFile {
  readonly name: string
  /** By which other image services know the content, in hexadecimal; absent: not known. */
  readonly sha512?: string
  readonly diskFormat: string
  readonly minDiskGb: number
  readonly minRamMb: number
  readonly properties: Readonly<Record<string, string>>
  /** The kernel with which the guest is started; absent: the boot loader of its disk. */
  readonly kernel?: ImageFile
  readonly ramdisk?: ImageFile
  /** Parts of the disk that a guest has written since the content, as `DiskChanges.take` has them; absent: none. */
  readonly changes?: ImageFile
}

export interface NicSpec {
  readonly portId: PortId
  readonly networkId: NetworkId
  readonly macAddress: string
  readonly mtu: number
  readonly fixedIps: readonly {
    readonly address: string
    readonly cidr: string
    readonly gateway: string | null
    readonly dhcp: boolean
    readonly dnsServers: readonly string[]
    /** The routes of the subnet besides the gateway; absent: none. */
    readonly hostRoutes?: readonly { readonly destination: string; readonly nexthop: string }[]
  }[]
  /** By which the guest finds it; absent: none. */
  readonly tag?: string
  /** The network of the site that it is on: `SITE`, or `SITE:7` for its VLAN 7; absent: a tenant network. */
  readonly segment?: string
}
