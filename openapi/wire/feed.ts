import { type Static, Type } from 'typebox'
import { StoreSummary, VolumeView } from './cell-volume.ts'
import { VolumeSnapshotView } from './cell-volume-snapshot.ts'
import { GuestPassword } from './guest-password.ts'
import { HostView } from './host.ts'
import { InstanceView } from './instance.ts'
import { MigrationView } from './migration.ts'
import { Nullable, OneOf, Texts, Time, Uuid } from './scalars.ts'
import { HeardSite } from './site.ts'
import { Trace } from './trace.ts'
import { ReleasedVolume } from './volume.ts'

/** The event of a build, as Nova's computes name it, which clients know. */
export const BUILD_EVENT = 'compute__do_build_and_run_instance'

/** Of the trace that the work is in, where one is recorded. */
const TraceId = Type.Optional(Type.String({ pattern: '^[0-9a-f]{32}$' }))

/** A step of work on a server, as `server event show` lists it. */
export const ActionEvent = Type.Object({
  serverId: Uuid,
  requestId: Type.String(),
  traceId: TraceId,
  event: Type.String(),
  startedAt: Time,
  finishedAt: Nullable(Time),
  result: Nullable(Type.Union([Type.Literal('Success'), Type.Literal('Error')])),
  host: Nullable(Type.String()),
  details: Nullable(Type.String()),
  /** The action that the cell began of its own accord, with this step; absent: one that was asked for. */
  action: Type.Optional(Type.String()),
})
export type ActionEvent = Static<typeof ActionEvent>

/** The request whose work has ended; absent: none has, or the cell is of release 0.1. */
const OfRequest = { requestId: Type.Optional(Type.String()), traceId: TraceId }

export const FeedBody = Type.Union([
  Type.Object({ kind: Type.Literal('instance'), view: InstanceView }),
  /** The cell owns nothing of this attempt any more. */
  Type.Object({ kind: Type.Literal('deleted'), serverId: Uuid, attempt: Type.Integer(), at: Time }),
  /** The cell gave up before the guest ran, and nothing is left: the gateway may try another cell. */
  Type.Object({
    kind: Type.Literal('not-built'),
    serverId: Uuid,
    attempt: Type.Integer(),
    reason: Type.String(),
    at: Time,
  }),
  Type.Object({
    kind: Type.Literal('trace'),
    serverId: Uuid,
    attempt: Type.Integer(),
    trace: Trace,
  }),
  Type.Object({ kind: Type.Literal('action-event'), event: ActionEvent }),
  Type.Object({ kind: Type.Literal('host'), view: HostView }),
  Type.Object({ kind: Type.Literal('migration'), view: MigrationView }),
  /** What the guest published as its password. It counts if it has not been cleared since, by the gateway's count. */
  Type.Object({
    kind: Type.Literal('guest-password'),
    ...Type.Omit(GuestPassword, ['hostId']).properties,
  }),
  Type.Object({ kind: Type.Literal('volume'), view: VolumeView, ...OfRequest }),
  /** The cell owns nothing of this attempt of the volume any more. */
  Type.Object({
    kind: Type.Literal('volume-deleted'),
    volumeId: Uuid,
    attempt: Type.Integer(),
    at: Time,
    ...OfRequest,
  }),
  Type.Object({ kind: Type.Literal('volume-snapshot'), view: VolumeSnapshotView, ...OfRequest }),
  /** The cell has nothing of the snapshot any more. */
  Type.Object({
    kind: Type.Literal('volume-snapshot-deleted'),
    snapshotId: Uuid,
    at: Time,
    ...OfRequest,
  }),
  /** A guest has released a volume after its detach had been given up. */
  Type.Object({ kind: Type.Literal('volume-released'), ...ReleasedVolume.properties }),
  /** Whether packets of the port pass, as the cell's network engine says; cells without one say nothing. */
  Type.Object({ kind: Type.Literal('port'), portId: Uuid, isUp: Type.Boolean() }),
  /** Whether a floating IP leads where it is to, as a host with routers of its own says; `problem`: why it does not, for operators. */
  Type.Object({
    kind: Type.Literal('floating-ip'),
    id: Uuid,
    portId: Uuid,
    fixedAddress: Type.String({ maxLength: 45 }),
    status: OneOf(['ACTIVE', 'DOWN', 'ERROR'] as const),
    problem: Nullable(Type.String({ maxLength: 1000 })),
  }),
])
export type FeedBody = Static<typeof FeedBody>

/** `n` counts committed changes of one incarnation of the cell's database, without holes. */
export const FeedRow = Type.Object({ n: Type.Integer({ minimum: 1 }), body: FeedBody })
export type FeedRow = Static<typeof FeedRow>

export const FeedBatch = Type.Object({ incarnation: Uuid, rows: Type.Array(FeedRow) })
export type FeedBatch = Static<typeof FeedBatch>

/** The summary of a cell, by which gateways choose cells. */
const Amounts = Type.Object({
  vcpus: Type.Integer(),
  memoryMb: Type.Integer(),
  diskGb: Type.Integer(),
})

export const CellSummary = Type.Object({
  hostsUp: Type.Integer(),
  hosts: Type.Integer(),
  zones: Type.Array(Type.String()),
  /** True where no host runs real guests. */
  simulated: Type.Boolean(),
  hypervisorTypes: Type.Array(Type.String()),
  architectures: Type.Array(Type.String()),
  imageFormats: Type.Array(Type.String()),
  traits: Type.Array(Type.String()),
  /** Free, and the most that one server may have of one host, overcommit included. MiB and GiB. */
  free: Amounts,
  largest: Amounts,
  /** The usage of all hosts, their total, and the limit with overcommit; absent as `release` may be. */
  used: Type.Optional(Amounts),
  total: Type.Optional(Amounts),
  limits: Type.Optional(Amounts),
  /** Of each custom resource class the largest free on one host; absent: no host has any. */
  largestCustom: Type.Optional(Type.Record(Type.String(), Type.Integer())),
  instances: Type.Integer(),
  /** Filters of hosts that run because the cell's operator named them; absent: of a release that did not say. */
  optionalFilters: Type.Optional(Type.Array(Type.String())),
  /** Usual filters of hosts that its operator left out, and on which requests may depend; absent: of a release that did not say. */
  filtersLeftOut: Type.Optional(Type.Array(Type.String())),
  /** Where volumes can be made; absent: of a release that has none. */
  stores: Type.Optional(Type.Array(StoreSummary)),
  /** Sagas that wait for an operator; absent: of a release that did not say. */
  stuckSagas: Type.Optional(Type.Integer({ minimum: 0 })),
  /** Its hosts stop their guests once no gateway has been in touch for so long; absent: they never do. */
  fenceAfterS: Type.Optional(Type.Integer({ minimum: 1 })),
  /** What runs it, and the versions of the wire that this speaks; absent: of a release that did not say. */
  release: Type.Optional(Type.String()),
  wireVersions: Type.Optional(Type.Array(Type.Integer({ minimum: 1 }))),
})
export type CellSummary = Static<typeof CellSummary>

/** A heartbeat that would name more says nothing of claims. */
export const UNREAD_CLAIMS_MAX = 1_000

export const CellHeartbeat = Type.Object({
  incarnation: Uuid,
  position: Type.Integer(),
  process: Type.String(),
  /** By which this process can be asked by itself; absent: only any of the cell can. */
  processId: Type.Optional(Uuid),
  at: Time,
  summary: CellSummary,
  /** How many claims this process has made, and which of them the summary may lack; absent: they are too many, or of a release that did not say. */
  claims: Type.Optional(
    Type.Object({
      made: Type.Integer({ minimum: 0 }),
      unread: Type.Array(Type.Integer({ minimum: 1 }), { maxItems: UNREAD_CLAIMS_MAX }),
    }),
  ),
  labels: Texts,
  /** The sites of its deployment; absent: of a release that did not say. */
  site: Type.Optional(HeardSite),
})
export type CellHeartbeat = Static<typeof CellHeartbeat>
