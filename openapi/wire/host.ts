import { type Static, Type } from 'typebox'
import { ERROR_KINDS } from '#common/errors.ts'
import { HostAct } from './act.ts'
import { AddressAnnouncement } from './announcement.ts'
import { GuestFigures } from './diagnostics.ts'
import { PortFilter } from './firewall.ts'
import { HostNetwork } from './host-network.ts'
import { InstanceBuild, MachineNic, Nic, OperationRef } from './instance.ts'
import { ServerLabels } from './labels.ts'
import { MoveProgress } from './migration.ts'
import { HostNodes, NumaNode } from './numa.ts'
import { HostAggregate, ProviderSettings } from './provider.ts'
import { HostRouting, RoutingProblem } from './routing.ts'
import { Nullable, OneOf, Texts, Time, Uuid } from './scalars.ts'
import {
  ReleasedVolume,
  VolumeAttach,
  VolumeCreate,
  VolumeDestroy,
  VolumeDetach,
  VolumeExport,
  VolumeExtend,
  VolumeKeys,
  VolumeList,
  VolumeListAnswer,
  VolumePack,
  VolumeReimage,
  VolumeSnapshot,
  VolumeSwap,
  WireStore,
} from './volume.ts'
import { MOVE_BYTES_REQUEST_MAX, MoveBytes, VOLUME_COPY_OPERATIONS } from './volume-copy.ts'

/** A network outside to which the backend routes; `cidrs` empty: its subnets are not shown. */
const ExternalNetwork = Type.Object({
  name: Type.String(),
  cidrs: Type.Array(Type.String()),
})

/** Subjects below `host.<cell>.<host>.`: what a cell asks of one of its computes. */
export const Inventory = Type.Object({
  vcpus: Type.Integer(),
  memoryMb: Type.Integer(),
  diskGb: Type.Integer(),
  hypervisor: Type.Object({
    type: Type.String(),
    version: Type.Integer(),
    hostname: Type.String(),
    /** Where the host is in its network; absent from computes that do not report it. */
    address: Type.Optional(Type.String()),
  }),
  architecture: Type.String(),
  cpu: Type.Object({
    vendor: Type.String(),
    model: Type.String(),
    features: Type.Array(Type.String()),
    topology: Type.Object({
      sockets: Type.Integer(),
      cores: Type.Integer(),
      threads: Type.Integer(),
    }),
  }),
  imageFormats: Type.Array(Type.String()),
  traits: Type.Array(Type.String()),
  /** The part of the amounts that the host keeps for itself; absent: nothing. */
  reserved: Type.Optional(
    Type.Object({
      vcpus: Type.Integer({ minimum: 0 }),
      memoryMb: Type.Integer({ minimum: 0 }),
      diskGb: Type.Integer({ minimum: 0 }),
    }),
  ),
  /** How many times the host promises each amount; absent: as many times as its cell does. */
  ratios: Type.Optional(
    Type.Object({
      vcpus: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
      memoryMb: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
      diskGb: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
    }),
  ),
  /** No part of the amounts can be promised twice; absent: they may be overcommitted. */
  isQuota: Type.Optional(Type.Literal(true)),
  /** How many instances there may be in all; absent: as many as fit. */
  instancesMax: Type.Optional(Type.Integer({ minimum: 0 })),
  /** Of further classes, such as `PCPU`, exactly so much; absent from hosts that know of none. */
  resources: Type.Optional(Type.Record(Type.String(), Type.Integer({ minimum: 0 }))),
  /** Its NUMA nodes, taken or not; absent: it has none, or does not say. */
  numa: Type.Optional(Type.Array(NumaNode)),
  /** Placement has a provider for each of them, with what of the host is theirs; absent: all is the host's. */
  hasNumaProviders: Type.Optional(Type.Literal(true)),
  /** Whole machines by class; present: nothing but these can be had. The amounts are those of one. */
  machines: Type.Optional(
    Type.Array(
      Type.Object({
        resourceClass: Type.String(),
        total: Type.Integer({ minimum: 0 }),
        vcpus: Type.Integer(),
        memoryMb: Type.Integer(),
        diskGb: Type.Integer(),
      }),
    ),
  ),
  /**
   * The networks of the site that NICs of the machines are on, such as `SITE:7`: their servers can have ports on these
   * alone. Absent from other hosts, and where the site alone knows.
   */
  machineSegments: Type.Optional(Type.Array(Type.String())),
  /** The traits of machines, each list of some; absent from hosts without machines. `traits` are those of all. */
  machineTraits: Type.Optional(Type.Array(Type.Array(Type.String()))),
  /** Extra specs of flavors about hardware that have an effect on guests; absent: all have, or the host does not say. */
  extraSpecs: Type.Optional(Type.Array(Type.String())),
  /** Properties of images, likewise: names, or `NAME=VALUE` where no other value has an effect; absent: all have, or the host does not say. */
  imageProperties: Type.Optional(Type.Array(Type.String())),
  /** Servers get flavors of the backend, with the same extra specs about hardware; absent: they get the flavor itself. */
  hasOwnFlavors: Type.Optional(Type.Literal(true)),
  /** By the names of physical networks; absent from hosts whose backend has no routers. */
  externalNetworks: Type.Optional(Type.Array(ExternalNetwork)),
  /** Why the backend routes to none of them; absent: it does. */
  routingProblem: Type.Optional(Type.String()),
})
export type Inventory = Static<typeof Inventory>

/** The part of an inventory that a host's operator decides. */
export type HostOffer = Pick<Inventory, 'reserved' | 'ratios' | 'hasNumaProviders'>

export const InstancePower = Type.Object({
  id: Uuid,
  powerState: Type.Integer(),
  /** Why its backend counts it as failed; absent: it does not. */
  fault: Type.Optional(Type.String()),
  /** Volumes that it has released late; absent: none. */
  released: Type.Optional(Type.Array(ReleasedVolume)),
})

export const ReportedGuest = Type.Object({
  id: Uuid,
  powerState: Type.Integer(),
  /** Off only because its host went off; absent from computes that cannot know. */
  endedWithHost: Type.Optional(Type.Boolean()),
  /** Why its backend counts it as failed; absent: it does not. */
  fault: Type.Optional(Type.String()),
  /** Which disk has no room, so that its backend has paused it; absent: none, or the host does not say. */
  noSpace: Type.Optional(Type.String()),
  /** Volumes that it has not any more, though their detach was given up; absent: none. */
  released: Type.Optional(Type.Array(ReleasedVolume)),
  /** Absent: it may be on any node, or these are no providers of their own. */
  hostNodes: Type.Optional(HostNodes),
})
export type ReportedGuest = Static<typeof ReportedGuest>

/** A guest that belongs to no server, as seen from outside. Memory in MiB, disk in GiB; null: not shown. */
export const UnmanagedGuest = Type.Object({
  id: Uuid,
  name: Type.String(),
  powerState: Type.Integer(),
  vcpus: Nullable(Type.Integer()),
  memoryMb: Nullable(Type.Integer()),
  rootGb: Nullable(Type.Integer()),
  /** Metadata that the guest's creator stored in the backend; absent where the backend stores none. */
  metadata: Type.Optional(Texts),
  tags: Type.Optional(Type.Array(Type.String())),
})
export type UnmanagedGuest = Static<typeof UnmanagedGuest>

/** Sent by a compute every minute, on change, and when its cell asks. */
export const HostReport = Type.Object({
  hostId: Uuid,
  name: Type.String(),
  zone: Nullable(Type.String()),
  driver: Type.String(),
  simulated: Type.Boolean(),
  capabilities: Type.Array(Type.String()),
  /** Why the backend cannot be used; null while it can. */
  down: Nullable(Type.String()),
  /** As last known while the backend is down; null when it was never seen. */
  inventory: Nullable(Inventory),
  /** The stores of volumes that it reaches now; absent: none, or the host is of a release that did not say. */
  stores: Type.Optional(Type.Array(WireStore)),
  /** By id. */
  instances: Type.Array(ReportedGuest),
  /** True: there are more than one message names, and those after the last one have to be asked for. */
  hasMore: Type.Optional(Type.Boolean()),
  startedAt: Time,
})
export type HostReport = Static<typeof HostReport>

/** Sent between reports, so that silence is noticed soon. */
export const HostAlive = Type.Object({
  hostId: Uuid,
  down: Nullable(Type.String()),
  /** What its driver has just measured, by Nova's names of metrics; absent: nothing since the last message. */
  metrics: Type.Optional(Type.Record(Type.String(), Type.Number())),
})
export type HostAlive = Static<typeof HostAlive>

/**
 * A compute's answer to a request for work. 'working': ask the same again; 'stale': the compute knows a newer
 * attempt; after 'failed' nothing of a spawn is left on the host.
 */
export const HostAnswer = Type.Union([
  Type.Object({ state: Type.Literal('working') }),
  /** Without power state: it is as it was. */
  Type.Object({
    state: Type.Literal('done'),
    powerState: Type.Optional(Type.Integer()),
    /** Information for the other host of a move. */
    peerInfo: Type.Optional(Type.String()),
    /** The former name of `peerInfo`, sent beside it and understood until release 0.2. */
    told: Type.Optional(Type.String()),
    /** Of a spawn; absent: its NICs have the MAC addresses they were to have. */
    machineNics: Type.Optional(Type.Array(MachineNic)),
    /** Of a volume that was attached: the name that the guest most likely gives it, such as `/dev/vdb`. */
    device: Type.Optional(Type.String()),
  }),
  Type.Object({
    state: Type.Literal('failed'),
    kind: OneOf(ERROR_KINDS),
    message: Type.String(),
    /** The backend's message, for operators only. */
    detail: Type.Optional(Type.String()),
  }),
  Type.Object({ state: Type.Literal('stale'), attempt: Type.Integer() }),
])
export type HostAnswer = Static<typeof HostAnswer>

/** The most that one message of a host may have, in bytes; the bus refuses longer ones. */
export const HOST_PAYLOAD_MAX = 1024 * 1024
/** Bytes of a server's files in one message of a host, before base64. */
export const MOVE_BYTES_MAX = (HOST_PAYLOAD_MAX * 5) / 8
const FileName = Type.String({ pattern: '^[a-z]{1,32}$' })

const MOVE_END = {
  ask: Type.Object({ serverId: Uuid, how: OneOf(['abort', 'complete'] as const) }),
  answer: Type.Object({}),
} as const
const UNMANAGED_GUESTS = {
  ask: Type.Object({}),
  answer: Type.Object({ guests: Type.Array(UnmanagedGuest) }),
}

export const HOST_OPERATIONS = {
  spawn: {
    ask: Type.Object({ operation: OperationRef, build: InstanceBuild, keys: VolumeKeys }),
    answer: HostAnswer,
  },
  destroy: { ask: Type.Object({ operation: OperationRef }), answer: HostAnswer },
  act: {
    ask: Type.Object({
      operation: OperationRef,
      act: HostAct,
      /** How long a guest is given to shut down before it is cut off. */
      graceMs: Type.Integer({ minimum: 0 }),
      /** False: a guest that the act starts again is off afterwards. */
      runs: Type.Optional(Type.Boolean()),
      keys: VolumeKeys,
    }),
    answer: HostAnswer,
  },
  'filter-ports': {
    ask: Type.Object({ ports: Type.Array(PortFilter) }),
    answer: Type.Object({ applied: Type.Array(Uuid) }),
  },
  label: {
    ask: Type.Object({ servers: Type.Array(ServerLabels) }),
    answer: Type.Object({ applied: Type.Array(Uuid) }),
  },
  /** Afterwards the backend routes the host's guests so, but for the problems. */
  route: {
    ask: HostRouting,
    answer: Type.Object({ problems: Type.Array(RoutingProblem) }),
  },
  /** Afterwards the networks of the site were told that these addresses are at the host. */
  'announce-addresses': {
    ask: AddressAnnouncement,
    answer: Type.Object({}),
  },
  'change-nic': {
    ask: Type.Object({
      operation: OperationRef,
      attach: Type.Optional(Nic),
      detach: Type.Optional(Nic),
    }),
    answer: Type.Object({}),
  },
  'volume-create': { ask: VolumeCreate, answer: HostAnswer },
  'volume-destroy': { ask: VolumeDestroy, answer: HostAnswer },
  'volume-extend': { ask: VolumeExtend, answer: HostAnswer },
  'volume-snapshot': { ask: VolumeSnapshot, answer: HostAnswer },
  'volume-destroy-snapshot': { ask: VolumeSnapshot, answer: HostAnswer },
  'volume-export': { ask: VolumeExport, answer: HostAnswer },
  'volume-revert': { ask: VolumeSnapshot, answer: HostAnswer },
  'volume-reimage': { ask: VolumeReimage, answer: HostAnswer },
  'volume-pack': { ask: VolumePack, answer: HostAnswer },
  ...VOLUME_COPY_OPERATIONS,
  'volume-list': { ask: VolumeList, answer: VolumeListAnswer },
  'volume-attach': { ask: VolumeAttach, answer: HostAnswer },
  'volume-detach': { ask: VolumeDetach, answer: HostAnswer },
  'volume-swap': { ask: VolumeSwap, answer: HostAnswer },
  'move-files': {
    ask: Type.Object({ serverId: Uuid }),
    answer: Type.Object({
      files: Type.Array(Type.Object({ name: FileName, sizeBytes: Type.Integer({ minimum: 0 }) })),
    }),
  },
  'move-read': {
    ask: Type.Object({
      serverId: Uuid,
      name: FileName,
      offset: Type.Integer({ minimum: 0 }),
      maxBytes: Type.Integer({ minimum: 1, maximum: MOVE_BYTES_REQUEST_MAX }),
    }),
    answer: Type.Object({ bytes: MoveBytes }),
  },
  'move-write': {
    ask: Type.Object({
      operation: OperationRef,
      name: FileName,
      offset: Type.Integer({ minimum: 0 }),
      bytes: MoveBytes,
    }),
    answer: Type.Object({}),
  },
  /** Computes understand it; cells ask under the former name until release 0.2. */
  'move-end': MOVE_END,
  'move-steer': MOVE_END,
  'move-progress': { ask: Type.Object({ serverId: Uuid }), answer: MoveProgress },
  diagnostics: { ask: Type.Object({ serverId: Uuid }), answer: GuestFigures },
  uptime: { ask: Type.Object({}), answer: Type.Object({ text: Type.String() }) },
  'console-log': {
    ask: Type.Object({ serverId: Uuid, maxBytes: Type.Integer({ minimum: 0 }) }),
    /** Bytes as Latin-1 text: a guest may print anything. */
    answer: Type.Object({ output: Type.String() }),
  },
  /** Computes understand it; cells ask under the former name until release 0.2. */
  'unmanaged-guests': UNMANAGED_GUESTS,
  strangers: UNMANAGED_GUESTS,
  /** `after`: only the instances whose ids come after it. */
  report: { ask: Type.Object({ after: Type.Optional(Uuid) }), answer: HostReport },
  /** A gateway was in touch so long ago; guests are to stop once none has been for `fenceAfterMs`, 0: never. */
  contact: {
    ask: Type.Object({
      fenceAfterMs: Type.Integer({ minimum: 0 }),
      ageMs: Type.Integer({ minimum: 0 }),
    }),
    answer: Type.Object({}),
  },
} as const

/** A host as its cell shows it; `version` grows with every change. */
export const HostView = Type.Object({
  hostId: Uuid,
  version: Type.Integer({ minimum: 1 }),
  name: Type.String(),
  zone: Type.String(),
  driver: Type.String(),
  simulated: Type.Boolean(),
  capabilities: Type.Array(Type.String()),
  isUp: Type.Boolean(),
  down: Nullable(Type.String()),
  isDisabled: Type.Boolean(),
  disabledReason: Nullable(Type.String()),
  isForcedDown: Type.Boolean(),
  /** When its cell powered it off because it did not answer; absent: it did not, or the host has started since. */
  fencedAt: Type.Optional(Time),
  /** Why its cell did not fence it although it does not answer; absent: it answers, or its cell fences no hosts. */
  fenceProblem: Type.Optional(Type.String()),
  /** What its cell powers it off by, and why that cannot be used; absent: nothing. */
  fenceDevice: Type.Optional(
    Type.Object({ name: Type.String(), problem: Nullable(Type.String()) }),
  ),
  lastSeenAt: Time,
  startedAt: Time,
  inventory: Nullable(Inventory),
  ratios: Type.Object({ vcpus: Type.Number(), memoryMb: Type.Number(), diskGb: Type.Number() }),
  used: Type.Object({
    vcpus: Type.Integer(),
    memoryMb: Type.Integer(),
    diskGb: Type.Integer(),
    instances: Type.Integer(),
    /** By custom resource class; absent: none. */
    custom: Type.Optional(Type.Record(Type.String(), Type.Integer())),
  }),
  metadata: Texts,
  /** The zone it is in while no aggregate says otherwise; absent from cells that know no aggregates. */
  ownZone: Type.Optional(Type.String()),
  /** The aggregates of the host, as gateways have sent them to the cell; absent: none. */
  aggregates: Type.Optional(Type.Array(HostAggregate)),
  /** As gateways have sent them to the cell; absent: none. The inventory is without them. */
  settings: Type.Optional(ProviderSettings),
  isDeleted: Type.Boolean(),
  /** Absent: it is joined to no network engine, or its cell is of a release that did not say. */
  network: Type.Optional(HostNetwork),
})
export type HostView = Static<typeof HostView>
