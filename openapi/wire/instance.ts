import { type Static, Type } from 'typebox'
import { TASKS, VM_STATES } from '#common/states/instance-states.ts'
import { HeldAmounts, HostNodes, NumaAllocation } from './numa.ts'
import { MacAddress, Nullable, OneOf, Texts, Time, Uuid } from './scalars.ts'

/** Names the wire operation and the server's incarnation it is about; what a receiver remembers it by. */
export const OperationRef = Type.Object({
  id: Uuid,
  serverId: Uuid,
  /** Grows each time the gateway assigns the server to a cell; a cell refuses attempts older than the one it knows. */
  attempt: Type.Integer({ minimum: 1 }),
})
export type OperationRef = Static<typeof OperationRef>

/** A flavor as it was when the server was asked for. Memory in MiB, disks in GiB, swap in MiB. */
export const FlavorSnapshot = Type.Object({
  id: Type.String(),
  name: Type.String(),
  vcpus: Type.Integer({ minimum: 1 }),
  memoryMb: Type.Integer({ minimum: 1 }),
  rootGb: Type.Integer({ minimum: 0 }),
  ephemeralGb: Type.Integer({ minimum: 0 }),
  swapMb: Type.Integer({ minimum: 0 }),
  extraSpecs: Texts,
})
export type FlavorSnapshot = Static<typeof FlavorSnapshot>

/** Where hosts of a cell read an image first, and the proof that they may. */
export const ImageCacheRef = Type.Object({
  urls: Type.Array(Type.String(), { maxItems: 64 }),
  pass: Type.String(),
})
export type ImageCacheRef = Static<typeof ImageCacheRef>

/** A content of the image service, and the right to read it. */
export const ImageFile = Type.Object({
  id: Uuid,
  sizeBytes: Type.Integer({ minimum: 0 }),
  sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  ticket: Type.String(),
  /** Set by a cell for its hosts; absent: the cell has no cache. */
  cache: Type.Optional(ImageCacheRef),
})
export type ImageFile = Static<typeof ImageFile>

/** A content is the disk in another content with the changes in a third (`common/qcow2/merge-changes.ts`), byte by byte. */
export const ImageMaking = Type.Object({
  before: Type.Pick(ImageFile, ['sha256', 'sizeBytes']),
  changes: Type.Omit(ImageFile, ['cache']),
})
export type ImageMaking = Static<typeof ImageMaking>

/**
 * What a host needs besides the content to make an image of it in another cloud; absent from gateways that are older.
 */
export const ImageLabels = {
  name: Type.Optional(Type.String()),
  minDiskGb: Type.Optional(Type.Integer({ minimum: 0 })),
  minRamMb: Type.Optional(Type.Integer({ minimum: 0 })),
  properties: Type.Optional(Texts),
}

export const ImageSnapshot = Type.Object({
  ...ImageFile.properties,
  name: Type.String(),
  /** The hash by which other image services know the content; absent: unknown. */
  sha512: Type.Optional(Type.String({ pattern: '^[0-9a-f]{128}$' })),
  diskFormat: Type.String(),
  minDiskGb: Type.Integer({ minimum: 0 }),
  minRamMb: Type.Integer({ minimum: 0 }),
  properties: Texts,
  /** The kernel with which a guest is started; absent: the boot loader of its disk. */
  kernel: Type.Optional(ImageFile),
  ramdisk: Type.Optional(ImageFile),
  /** What a guest has written since the content; the disk format then says that there are changes. Absent: nothing. */
  changes: Type.Optional(ImageFile),
})
export type ImageSnapshot = Static<typeof ImageSnapshot>

export const Nic = Type.Object({
  portId: Uuid,
  networkId: Uuid,
  macAddress: MacAddress,
  mtu: Type.Integer({ minimum: 68, maximum: 65535 }),
  fixedIps: Type.Array(
    Type.Object({
      address: Type.String(),
      cidr: Type.String(),
      gateway: Nullable(Type.String()),
      dhcp: Type.Boolean(),
      dnsServers: Type.Array(Type.String()),
      /** The routes of the subnet besides the gateway; absent: none. */
      hostRoutes: Type.Optional(
        Type.Array(Type.Object({ destination: Type.String(), nexthop: Type.String() })),
      ),
    }),
  ),
  /** By which the guest finds it; absent: none. */
  tag: Type.Optional(Type.String()),
  /** The network of the site that it is on: `SITE`, or `SITE:7` for its VLAN 7; absent: a tenant network. */
  segment: Type.Optional(Type.String()),
})

/** The NIC of a machine that is behind a port. */
export const MachineNic = Type.Object({ portId: Uuid, macAddress: MacAddress })
export type MachineNic = Static<typeof MachineNic>

const GROUP_POLICIES = ['affinity', 'anti-affinity', 'soft-affinity', 'soft-anti-affinity'] as const
export type GroupPolicy = (typeof GROUP_POLICIES)[number]

/** The rule for the hosts of a group's servers relative to each other. */
export const ServerGroupRule = Type.Object({
  id: Uuid,
  policy: OneOf(GROUP_POLICIES),
  /** Servers of an anti-affinity group that may share a host. */
  maxPerHost: Type.Integer({ minimum: 1 }),
})
export type ServerGroupRule = Static<typeof ServerGroupRule>

/**
 * Attributes that a user set on a server and that have no effect in Weir; another cloud may use them, if the server is
 * built there.
 */
export const PassthroughAttributes = Type.Object({
  description: Nullable(Type.String()),
  tags: Type.Array(Type.String()),
  diskConfig: OneOf(['AUTO', 'MANUAL']),
  accessIPv4: Nullable(Type.String()),
  accessIPv6: Nullable(Type.String()),
  /** Those that the gateway does not heed: for optional filters of the cell, and for another cloud. */
  hints: Type.Record(Type.String(), Type.Array(Type.String())),
  /** Ids of what a signature of its image may be checked with; absent: none are named. */
  trustedCertificates: Type.Optional(Type.Array(Type.String())),
})
export type PassthroughAttributes = Static<typeof PassthroughAttributes>

/** A file that the user puts into the guest. */
export const InjectedFile = Type.Object({
  /** Where the guest finds it. */
  path: Type.String(),
  /** Base64, as the user sent it. */
  contents: Type.String(),
})
export type InjectedFile = Static<typeof InjectedFile>

/** A volume that a server has from the start. */
export const BuildVolume = Type.Object({
  /** Of the attachment. */
  id: Uuid,
  volumeId: Uuid,
  volumeAttempt: Type.Integer({ minimum: 1 }),
  /** Set by a cell for its hosts. */
  store: Type.Optional(Type.String()),
  isReadOnly: Type.Boolean(),
  /** Other servers may have it at the same time. */
  isShared: Type.Boolean(),
  /** By which the guest finds it in its metadata; absent: none. */
  tag: Type.Optional(Type.String()),
  /** It is the server's first disk: the image then only tells properties, and is not read. */
  isRoot: Type.Optional(Type.Literal(true)),
})
export type BuildVolume = Static<typeof BuildVolume>

/** All a cell needs to build a server. A cell never asks back. */
export const InstanceBuild = Type.Object({
  projectId: Type.String(),
  userId: Type.String(),
  name: Type.String(),
  hostname: Type.String(),
  metadata: Texts,
  flavor: FlavorSnapshot,
  image: ImageSnapshot,
  nics: Type.Array(Nic, { maxItems: 64 }),
  /** Volumes of the cell that is asked, in the order of the disks; absent: none. */
  volumes: Type.Optional(Type.Array(BuildVolume, { minItems: 1, maxItems: 26 })),
  keypair: Nullable(
    Type.Object({ name: Type.String(), type: Type.String(), publicKey: Type.String() }),
  ),
  /** Base64, as the user sent it. */
  userData: Nullable(Type.String()),
  adminPassword: Nullable(Type.String()),
  /** Those of its config drive; absent: none. */
  files: Type.Optional(Type.Array(InjectedFile)),
  configDrive: Type.Boolean(),
  /** The zone the user asked for; null: any. */
  zone: Nullable(Type.String()),
  /** A host the user (an admin) insisted on, by name; null: the scheduler's choice. */
  requestedHost: Nullable(Type.String()),
  launchIndex: Type.Integer({ minimum: 0 }),
  reservationId: Type.String(),
  /** The group it is a member of; absent: none. */
  group: Type.Optional(ServerGroupRule),
  /** Servers it is to share a host with, one of them at least; absent: none. */
  sameHost: Type.Optional(Type.Array(Type.String())),
  /** Servers it is to share no host with; absent: none. */
  differentHost: Type.Optional(Type.Array(Type.String())),
  /** The name of the only cell that it may be in, for the gateway alone; absent: any. */
  targetCell: Type.Optional(Type.String()),
  /** Cells by name that it is not to be in, for the gateway alone; absent: none. */
  differentCells: Type.Optional(Type.Array(Type.String())),
  /** True: the server has security groups besides the project's `default`, which must be enforced; absent: it has none. */
  needsFirewall: Type.Optional(Type.Literal(true)),
  remarks: Type.Optional(PassthroughAttributes),
  /** The guest is on its host already, with the server's id, and is taken in as it is; absent: it is built. */
  adopts: Type.Optional(Type.Literal(true)),
  /** Set by a cell for its hosts; absent: the host decides on which of its NUMA nodes the guest is. */
  hostNodes: Type.Optional(HostNodes),
})
export type InstanceBuild = Static<typeof InstanceBuild>

const ImageFileRecord = Type.Omit(ImageFile, ['ticket'])

/** The part of a build that a cell keeps for as long as it has the instance: everything but secrets. */
export const InstanceRecord = Type.Object({
  ...Type.Omit(InstanceBuild, ['userData', 'adminPassword', 'files']).properties,
  image: Type.Object({
    ...Type.Omit(ImageSnapshot, ['ticket']).properties,
    kernel: Type.Optional(ImageFileRecord),
    ramdisk: Type.Optional(ImageFileRecord),
  }),
})
export type InstanceRecord = Static<typeof InstanceRecord>

export const Fault = Type.Object({
  code: Type.Integer(),
  /** From the fixed catalogue that users may see. */
  message: Type.String(),
  /** For operators. */
  details: Type.String(),
  createdAt: Time,
})
export type Fault = Static<typeof Fault>

/** An instance as its cell shows it. `version` grows with every change within an attempt. */
export const InstanceView = Type.Object({
  serverId: Uuid,
  attempt: Type.Integer({ minimum: 1 }),
  version: Type.Integer({ minimum: 1 }),
  vmState: OneOf(VM_STATES),
  taskState: Nullable(OneOf(TASKS)),
  /** Nova's number. */
  powerState: Type.Integer(),
  hostId: Nullable(Uuid),
  host: Nullable(Type.String()),
  hypervisorHostname: Nullable(Type.String()),
  instanceName: Type.String(),
  zone: Nullable(Type.String()),
  launchedAt: Nullable(Time),
  terminatedAt: Nullable(Time),
  fault: Nullable(Fault),
  /** Absent: those it was built with. */
  flavor: Type.Optional(FlavorSnapshot),
  imageId: Type.Optional(Uuid),
  /** Absent: its NICs have the MAC addresses of its ports. */
  machineNics: Type.Optional(Type.Array(MachineNic)),
  /** Absent: it holds nothing of any NUMA node. */
  numa: Type.Optional(NumaAllocation),
  /** Absent: it is on no host, or its cell is of a release that did not say. */
  held: Type.Optional(HeldAmounts),
})
export type InstanceView = Static<typeof InstanceView>
