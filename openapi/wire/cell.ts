import { type Static, Type } from 'typebox'
import { CellAct } from './act.ts'
import { VOLUME_OPERATIONS } from './cell-volume.ts'
import { VOLUME_SNAPSHOT_OPERATIONS } from './cell-volume-snapshot.ts'
import { GuestFigures } from './diagnostics.ts'
import { FeedRow } from './feed.ts'
import { PortFilter } from './firewall.ts'
import { HostView, UnmanagedGuest } from './host.ts'
import {
  FlavorSnapshot,
  ImageFile,
  ImageMaking,
  ImageSnapshot,
  InstanceBuild,
  InstanceRecord,
  InstanceView,
  Nic,
  OperationRef,
  PassthroughAttributes,
  ServerGroupRule,
} from './instance.ts'
import { ServerLabels } from './labels.ts'
import { MigrationView, MoveProgress } from './migration.ts'
import { NetworkChanges, NetworkObjectRef } from './network.ts'
import { HostAggregate, ProviderSettings } from './provider.ts'
import { Nullable, OneOf, Time, Uuid } from './scalars.ts'
import { SiteAnnouncement } from './site.ts'
import { Trace } from './trace.ts'

/** A claim on a host: the `nth` that this process of the cell has made since it started. */
export const BuildClaim = Type.Object({ processId: Uuid, nth: Type.Integer({ minimum: 1 }) })
export type BuildClaim = Static<typeof BuildClaim>

/**
 * Whichever of these a cell commits first for a server's attempt is its only answer for that attempt, ever. After
 * 'refused' the gateway may ask another cell; 'deleted' means a delete came first.
 */
export const BuildAnswer = Type.Union([
  Type.Object({
    outcome: Type.Literal('accepted'),
    view: InstanceView,
    trace: Trace,
    /** Absent from a repeated answer, and from cells of a release that did not say. */
    claim: Type.Optional(BuildClaim),
  }),
  Type.Object({ outcome: Type.Literal('refused'), reason: Type.String(), trace: Trace }),
  Type.Object({ outcome: Type.Literal('deleted') }),
])
export type BuildAnswer = Static<typeof BuildAnswer>

/** 'deleted' is committed and final; 'deleting' is brought to its end by the cell, whose feed then says so. */
export const DeleteAnswer = Type.Union([
  Type.Object({ outcome: Type.Literal('deleted') }),
  Type.Object({ outcome: Type.Literal('deleting'), view: InstanceView }),
])
export type DeleteAnswer = Static<typeof DeleteAnswer>

/** A saga of the cell that waits for an operator, or did. */
export const CellSaga = Type.Object({
  id: Uuid,
  name: Type.String({ pattern: '^[ -~]{1,64}$' }),
  subject: Type.String({ pattern: '^[ -~]{0,64}$' }),
  state: OneOf(['running', 'unwinding', 'done', 'unwound', 'stuck']),
  /** Of one that is stuck; null where only its log says why. */
  why: Nullable(Type.String({ maxLength: 1000 })),
  requestId: Nullable(Type.String({ pattern: '^[ -~]{0,64}$' })),
  startedAt: Time,
  /** When it ended or got stuck; null while it goes on. */
  endedAt: Nullable(Time),
})
export type CellSaga = Static<typeof CellSaga>

/** Requests of gateways to a cell. Operations that change something carry an `operation`, and a repeat gets the same answer. */
const UNMANAGED_GUESTS = {
  ask: Type.Object({ hostId: Uuid }),
  answer: Type.Object({ guests: Type.Array(UnmanagedGuest) }),
}

export const CELL_OPERATIONS = {
  'instance.build': {
    ask: Type.Object({ operation: OperationRef, build: InstanceBuild }),
    answer: BuildAnswer,
  },
  /** Which host a server would go to now. Nothing is claimed or kept, so the next may hear otherwise. */
  'placement.explain': {
    ask: Type.Object({
      projectId: Type.String(),
      flavor: FlavorSnapshot,
      image: Type.Object({
        ...Type.Pick(ImageSnapshot, ['diskFormat', 'minDiskGb', 'properties']).properties,
        /** Absent from gateways of the former release. */
        id: Type.Optional(Uuid),
      }),
      zone: Nullable(Type.String()),
      requestedHost: Nullable(Type.String()),
      group: Type.Optional(ServerGroupRule),
      sameHost: Type.Optional(Type.Array(Type.String())),
      differentHost: Type.Optional(Type.Array(Type.String())),
      needsFirewall: Type.Optional(Type.Literal(true)),
      remarks: Type.Optional(Type.Pick(PassthroughAttributes, ['hints'])),
      volumes: Type.Optional(InstanceBuild.properties.volumes),
      /** How many such servers are to be built together; absent: one. */
      count: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
    }),
    answer: Type.Object({
      trace: Trace,
      /** How many of `count` would be accepted; absent from cells of the former release. */
      fitting: Type.Optional(Type.Integer({ minimum: 0 })),
    }),
  },
  'instance.delete': {
    ask: Type.Object({
      operation: OperationRef,
      /** Where it was seen last: a cell whose database was restored may not know it, and its guest may still run there. */
      hostId: Type.Optional(Uuid),
    }),
    answer: DeleteAnswer,
  },
  'instance.act': {
    ask: Type.Object({
      operation: OperationRef,
      act: CellAct,
      /**
       * True: the act names the state that the server is to be in. A server in that state already is neither changed nor
       * refused; one with a task under way is answered `unavailable`, for the caller to ask again.
       */
      isDesiredState: Type.Optional(Type.Boolean()),
      /** The former name of `isDesiredState`, sent beside it and understood until release 0.2. */
      isWish: Type.Optional(Type.Boolean()),
    }),
    answer: Type.Object({ view: InstanceView }),
  },
  /** Afterwards the guest has the NIC, now and at every start, or does not have it. A repeat changes nothing. */
  'instance.change-nic': {
    ask: Type.Object({
      operation: OperationRef,
      attach: Type.Optional(Nic),
      detach: Type.Optional(Nic),
    }),
    answer: Type.Object({}),
  },
  /**
   * The cell's records; `view` is null if it has no such server, `heldOn` are the hosts with allocations for it,
   * `record` is its build request, if requested.
   */
  'instance.audit': {
    ask: Type.Object({ serverId: Uuid, withRecord: Type.Optional(Type.Boolean()) }),
    answer: Type.Object({
      view: Nullable(InstanceView),
      heldOn: Type.Array(Uuid),
      record: Type.Optional(InstanceRecord),
    }),
  },
  'instance.diagnostics': { ask: Type.Object({ serverId: Uuid }), answer: GuestFigures },
  'instance.move-progress': { ask: Type.Object({ serverId: Uuid }), answer: MoveProgress },
  'instance.console-log': {
    ask: Type.Object({ serverId: Uuid, maxBytes: Type.Integer({ minimum: 0 }) }),
    answer: Type.Object({ output: Type.String() }),
  },
  /** The host's guests that belong to no server. Cells understand it; gateways ask under the former name until release 0.2. */
  'host.unmanaged-guests': UNMANAGED_GUESTS,
  'host.strangers': UNMANAGED_GUESTS,
  /** Afterwards the applied ports let through what they say; those that are not there, or not yet, are passed over. */
  'host.filter-ports': {
    ask: Type.Object({ hostId: Uuid, ports: Type.Array(PortFilter) }),
    answer: Type.Object({ applied: Type.Array(Uuid) }),
  },
  /** Afterwards the backend shows these servers so; those that are not there, or not yet, are passed over. */
  'host.label': {
    ask: Type.Object({ hostId: Uuid, servers: Type.Array(ServerLabels) }),
    answer: Type.Object({ applied: Type.Array(Uuid) }),
  },
  /** How long the host has been up, as its `uptime` prints it. */
  'host.uptime': {
    ask: Type.Object({ hostId: Uuid }),
    answer: Type.Object({ text: Type.String() }),
  },
  /** Afterwards the host is not there, until its compute starts again. */
  'host.forget': { ask: Type.Object({ hostId: Uuid }), answer: HostView },
  'host.set-service': {
    ask: Type.Object({
      hostId: Uuid,
      isDisabled: Type.Optional(Type.Boolean()),
      disabledReason: Type.Optional(Nullable(Type.String())),
      isForcedDown: Type.Optional(Type.Boolean()),
    }),
    answer: HostView,
  },
  /** Afterwards the host is in these aggregates and in no other. */
  'host.set-aggregates': {
    ask: Type.Object({ hostId: Uuid, aggregates: Type.Array(HostAggregate) }),
    answer: HostView,
  },
  /** Afterwards the host is the resource provider that these settings make of what it reports. */
  'host.set-provider': {
    ask: Type.Object({ hostId: Uuid, settings: ProviderSettings }),
    answer: HostView,
  },
  /** Afterwards the cell's image cache has the image, or fetches it: asked again, it says so. */
  'image.preload': {
    ask: ImageFile,
    answer: Type.Object({
      state: OneOf(['cached', 'fetching'] as const),
      /** Of the image, as many as are in the cell. */
      fetchedBytes: Type.Integer({ minimum: 0 }),
    }),
  },
  /**
   * As `image.preload`; once the cache has the image, it keeps that for the server, and no other for it any more, until
   * `image.unpin`.
   */
  'image.pin': {
    ask: Type.Object({
      serverId: Uuid,
      image: Type.Omit(ImageFile, ['cache']),
      /** What a cache that has the content before can make it of, so that the changes alone come to it. */
      madeOf: Type.Optional(ImageMaking),
    }),
    answer: Type.Object({
      state: OneOf(['cached', 'fetching'] as const),
      fetchedBytes: Type.Integer({ minimum: 0 }),
    }),
  },
  /** Afterwards the cell's image caches keep no image for the server. */
  'image.unpin': { ask: Type.Object({ serverId: Uuid }), answer: Type.Object({}) },
  /** Whether the cell's image cache has the image; nothing is fetched. */
  'image.cached': {
    ask: Type.Omit(ImageFile, ['ticket', 'cache']),
    answer: Type.Object({
      state: OneOf(['cached', 'fetching', 'absent'] as const),
      fetchedBytes: Type.Integer({ minimum: 0 }),
    }),
  },
  /** Rows after a position; those up to it are taken as applied and may be dropped. */
  'feed.read': {
    ask: Type.Object({
      incarnation: Uuid,
      after: Type.Integer({ minimum: 0 }),
      limit: Type.Integer({ minimum: 1, maximum: 1000 }),
    }),
    /** `isGap`: rows after the position are gone, or the incarnation is another: only a resync helps. */
    answer: Type.Object({
      incarnation: Uuid,
      isGap: Type.Boolean(),
      last: Type.Integer(),
      rows: Type.Array(FeedRow),
    }),
  },
  /** A page of the instances the cell holds, and the feed position it is at least as new as. */
  'snapshot.read': {
    ask: Type.Object({
      afterInstance: Nullable(Uuid),
      limit: Type.Integer({ minimum: 1, maximum: 1000 }),
    }),
    answer: Type.Object({
      incarnation: Uuid,
      position: Type.Integer(),
      instances: Type.Array(InstanceView),
      /** Of these instances. */
      migrations: Type.Optional(Type.Array(MigrationView)),
      /** False where the cell has instances after these; a page ends early where its bytes would be too many. */
      isLast: Type.Boolean(),
    }),
  },
  'snapshot.hosts': {
    ask: Type.Object({ afterHost: Nullable(Uuid) }),
    answer: Type.Object({
      incarnation: Uuid,
      hosts: Type.Array(HostView),
      isLast: Type.Boolean(),
    }),
  },
  /** Of these servers those whose delete the cell has committed: a gateway may have forgotten that the cell said so. */
  'snapshot.ended': {
    ask: Type.Object({ serverIds: Type.Array(Uuid, { maxItems: 500 }) }),
    answer: Type.Object({
      ended: Type.Array(Type.Object({ serverId: Uuid, attempt: Type.Integer({ minimum: 1 }) })),
    }),
  },
  /** The oldest hundred sagas that wait for an operator, and those of these ids that are there, in any state. */
  'saga.list-stuck': {
    ask: Type.Object({ ids: Type.Array(Uuid, { maxItems: 100 }) }),
    answer: Type.Object({ sagas: Type.Array(CellSaga, { maxItems: 200 }) }),
  },
  /** Afterwards the saga goes on, or is undone. `isContinued` is false for one that is not stuck. */
  'saga.continue': {
    ask: Type.Object({ id: Uuid }),
    answer: Type.Object({ isContinued: Type.Boolean() }),
  },
  /** Afterwards the cell knows the sites of its deployment, and which is active; unless it has heard of a later promotion. */
  'site.announce': {
    ask: SiteAnnouncement,
    answer: Type.Object({ generation: Type.Integer({ minimum: 1 }) }),
  },
  /** A page of what the cell has of its network state, by kind and id, after `after`. */
  'network.list': {
    ask: Type.Object({ after: Nullable(Type.Pick(NetworkObjectRef, ['kind', 'id'])) }),
    answer: Type.Object({
      objects: Type.Array(NetworkObjectRef, { maxItems: 1000 }),
      isLast: Type.Boolean(),
    }),
  },
  /**
   * Afterwards the cell has these changes on its disk, and its network engine has them soon. `generation` is that of the
   * lease under which a gateway speaks: the cell refuses one that is older than it has heard.
   */
  'network.apply': {
    ask: Type.Object({ generation: Type.Integer({ minimum: 1 }), changes: NetworkChanges }),
    answer: Type.Object({}),
  },
  ...VOLUME_OPERATIONS,
  ...VOLUME_SNAPSHOT_OPERATIONS,
} as const

export type CellOperation = keyof typeof CELL_OPERATIONS
export type CellAsk<O extends CellOperation> = Static<(typeof CELL_OPERATIONS)[O]['ask']>
export type CellAnswer<O extends CellOperation> = Static<(typeof CELL_OPERATIONS)[O]['answer']>
