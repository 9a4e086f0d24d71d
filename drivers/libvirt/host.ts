import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { Failure } from '#common/errors.ts'
import type { InstanceId, VolumeId } from '#common/ids.ts'
import type { Logger } from '#common/log.ts'
import type { Owner } from '../driver.ts'
import type { ImageCache } from '../image-cache.ts'
import type { InstanceLocks } from '../instance-locks.ts'
import type { KeyedLock } from '../keyed-lock.ts'
import type { Keyring } from '../keyring.ts'
import type { GuestTopology, Topology } from '../topology.ts'
import type { Uptime } from '../uptime.ts'
import type { DeviceCalls } from './domains/device-calls.ts'
import type { DomainCalls } from './domains/domain-calls.ts'
import type { VirtType } from './domains/domain-xml.ts'
import { type InstanceFiles, instanceFiles } from './instance-files.ts'
import { type InstanceRecord, readInstanceRecord } from './instance-record.ts'
import type { GuestNetworks } from './networks/guest-networks.ts'
import type { CpuSettings } from './placement/cpu-settings.ts'
import type { PassthroughDevices } from './placement/pci-devices.ts'
import type { LibvirtSession } from './session.ts'
import type { LibvirtAddress, PeerAddress } from './uri.ts'
import type { DiskCalls } from './volumes/disk-calls.ts'
import type { PoolSessions } from './volumes/pool-sessions.ts'
import type { Pools } from './volumes/pools.ts'
import type { VolumeStore } from './volumes/store.ts'

/** The services that every operation of the libvirt driver uses; built once by `createLibvirtDriver`. */
export interface LibvirtHost {
  readonly owner: Owner
  readonly stateDirectory: string
  /** Where this and other hosts have their state directories; undefined: none sees another's. */
  readonly sharedFolder: string | undefined
  readonly address: LibvirtAddress
  /** How the daemons of other hosts reach this host's. */
  readonly peer: PeerAddress
  /** For events and for calls that are answered at once. */
  readonly session: LibvirtSession
  /** For what takes the daemon a second or more: one connection has five calls under way at most. */
  readonly slowSession: LibvirtSession
  readonly poolSessions: PoolSessions
  readonly domains: DomainCalls
  readonly devices: DeviceCalls
  readonly disks: DiskCalls
  readonly networks: GuestNetworks
  readonly images: ImageCache
  readonly locks: InstanceLocks
  readonly pools: Pools
  /** A store that this host reaches. Throws as `pools.get`. */
  readonly openStore: (id: string, signal: AbortSignal) => Promise<VolumeStore>
  readonly keyring: Keyring
  /** Held while a volume is grown or removed, or a guest is about to get it. */
  readonly volumeLocks: KeyedLock<VolumeId>
  readonly cpus: CpuSettings
  readonly passthroughDevices: readonly PassthroughDevices[]
  /** Held while CPUs, pages and devices are given to a guest. */
  readonly placing: KeyedLock<'all'>
  /** Instances whose domain is gone and whose networks and files are being removed. */
  readonly leaving: Set<InstanceId>
  /** Instances that are paused for the moment in which they change over to another volume. */
  readonly changingOver: Set<InstanceId>
  /** Settled once: how guests run here. */
  readonly virtType: (signal: AbortSignal) => Promise<VirtType>
  readonly logger: Logger | undefined
}

/** True while both connections carry calls. One may be found lost before the other when the daemon ends. */
export function isReached({
  session,
  slowSession,
}: Pick<LibvirtHost, 'session' | 'slowSession'>): boolean {
  return session.connected && slowSession.connected
}

export function filesOf(host: LibvirtHost, id: InstanceId): InstanceFiles {
  return instanceFiles(host.stateDirectory, id)
}

export function libvirtTopology(host: LibvirtHost): Topology {
  return {
    read: async (id: InstanceId) => {
      const record = await readInstanceRecord(filesOf(host, id))
      if (record === undefined)
        throw new Failure('not-found', `Instance ${id} could not be found on this host.`)
      return topologyOf(record)
    },
  }
}

/** A guest that has its own CPUs and no memory nodes is as one node to Nova. */
function topologyOf({
  domain: { flavor },
  placement,
  isAdopted,
}: InstanceRecord): GuestTopology | null {
  const { pins, nodes, pageKib = null } = placement ?? {}
  if (isAdopted === true || (nodes === undefined && pins === undefined)) return null
  const { memoryMb } = flavor
  const vcpus = Array.from({ length: flavor.vcpus }, (_, vcpu) => vcpu)
  return {
    pageKib,
    nodes: (nodes ?? [{ vcpus, memoryMb, hostNode: null }]).map((node) => ({
      ...node,
      pins: pins === undefined ? [] : node.vcpus.map((vcpu) => pins[vcpu]!),
    })),
  }
}

const run = promisify(execFile)

/** Of the machine that the compute process is on: a host is driven from where its guests' files are. */
export const libvirtUptime: Uptime = {
  async read(signal) {
    const { stdout } = await run('env', ['LC_ALL=C', 'uptime'], { signal })
    return stdout
  },
}
