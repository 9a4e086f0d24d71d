import { type Static, Type } from 'typebox'
import { ImageTarget } from './act.ts'
import { ImageFile, ImageLabels, OperationRef } from './instance.ts'
import { Nullable, OneOf, Texts, Time, Uuid } from './scalars.ts'
import { Trace } from './trace.ts'

/** Names the wire operation and the volume's incarnation it is about; what a receiver remembers it by. */
export const VolumeAttemptRef = Type.Object({
  id: Uuid,
  volumeId: Uuid,
  /** Grows each time the gateway assigns the volume to a cell; a cell refuses attempts older than the one it knows. */
  attempt: Type.Integer({ minimum: 1 }),
})
export type VolumeAttemptRef = Static<typeof VolumeAttemptRef>

const StoreId = Type.String({ minLength: 1, maxLength: 255 })

/** How a volume is encrypted: LUKS, with AES in XTS mode. */
export const VolumeEncryption = Type.Object({
  keyBits: Type.Union([Type.Literal(128), Type.Literal(256)]),
})
export type VolumeEncryption = Static<typeof VolumeEncryption>

/** A store as its cell offers it, in GiB. */
export const StoreSummary = Type.Object({
  id: StoreId,
  name: Type.String(),
  engine: Type.String(),
  zones: Type.Array(Type.String()),
  totalGb: Type.Integer({ minimum: 0 }),
  freeGb: Type.Integer({ minimum: 0 }),
  /** The sizes of its volumes and their snapshots, used or not. */
  promisedGb: Type.Integer({ minimum: 0 }),
  /** Volumes and snapshots in it that the cell made and does not know any more; absent: the cell does not look. */
  unknownObjects: Type.Optional(Type.Integer({ minimum: 0 })),
  /** The largest volume that it can take now; absent: the cell does not say. */
  roomGb: Type.Optional(Type.Integer({ minimum: 0 })),
  multiattach: Type.Boolean(),
  /** Volumes in it can be encrypted; absent: they cannot, or the cell is of a release that did not know encryption. */
  encrypts: Type.Optional(Type.Boolean()),
  /** What its engine cannot do (`STORE_LACKS`); absent: nothing, or the cell is of a release that did not say. */
  lacks: Type.Optional(Type.Array(Type.String())),
  /** False: no host that is up reaches it. */
  isUp: Type.Boolean(),
})
export type StoreSummary = Static<typeof StoreSummary>

/** The content of an image. */
const SourceImage = Type.Object({
  ...Type.Omit(ImageFile, ['cache']).properties,
  diskFormat: Type.String(),
  ...ImageLabels,
})

/** What a volume's content is made from: an image, or what the cell that is asked has. */
export const VolumeSource = Type.Union([
  Type.Object({ kind: Type.Literal('image'), image: SourceImage }),
  /** The encrypted content of the volume itself, from another cell, with the key that opens it, sealed for this one. */
  Type.Object({
    kind: Type.Literal('sealed-image'),
    image: SourceImage,
    sealedKey: Type.String(),
  }),
  Type.Object({
    kind: Type.Literal('volume'),
    volumeId: Uuid,
    attempt: Type.Integer({ minimum: 1 }),
    /** The server that uses it, through whose host its content is of one moment; absent: none does. */
    serverId: Type.Optional(Uuid),
  }),
  Type.Object({
    kind: Type.Literal('snapshot'),
    snapshotId: Uuid,
    /** The volume that it is of. */
    volumeId: Uuid,
  }),
])
export type VolumeSource = Static<typeof VolumeSource>

export const VolumeRequest = Type.Object({
  projectId: Type.String(),
  sizeGb: Type.Integer({ minimum: 1 }),
  zone: Nullable(Type.String()),
  /** The extra specs of its type. */
  specs: Texts,
  /** Absent: it is not encrypted. */
  encryption: Type.Optional(VolumeEncryption),
  /** Absent: it begins empty. */
  source: Type.Optional(VolumeSource),
  /** The name of a host that is to reach its store, where such a store can take it; absent: any. */
  host: Type.Optional(Type.String()),
  /** The stores that it may be in; absent: any. */
  amongStores: Type.Optional(Type.Array(StoreId)),
  /** The stores that it must not be in; absent: none. */
  notInStores: Type.Optional(Type.Array(StoreId)),
})
export type VolumeRequest = Static<typeof VolumeRequest>

/** The formats in which a volume's content becomes an image, by Glance's names. */
export const UPLOAD_FORMATS = ['raw', 'qcow2'] as const
export type UploadFormat = (typeof UPLOAD_FORMATS)[number]

/** What a cell's volume is doing. In `error` and `error-deleting` it waits for its user, with the reason as its fault. */
export const VOLUME_STATES = [
  'creating',
  'available',
  'extending',
  'uploading',
  'reverting',
  /** It is being given the content of an image, for itself or while its server is rebuilt. */
  'downloading',
  'deleting',
  'error',
  'error-deleting',
] as const
export type VolumeState = (typeof VOLUME_STATES)[number]

/** A volume as its cell shows it; `version` grows with every change within an attempt. */
export const VolumeView = Type.Object({
  volumeId: Uuid,
  attempt: Type.Integer({ minimum: 1 }),
  version: Type.Integer({ minimum: 1 }),
  state: OneOf(VOLUME_STATES),
  sizeGb: Type.Integer({ minimum: 1 }),
  storeId: StoreId,
  storeName: Type.String(),
  zone: Type.String(),
  /** The reason for its last failed change, for operators; null: none failed since one succeeded. */
  fault: Nullable(Type.String()),
  /** The image whose content it was given last, after it was made; absent: none was. */
  imageId: Type.Optional(Uuid),
  updatedAt: Time,
})
export type VolumeView = Static<typeof VolumeView>

/** What a volume asks of the other store to which it goes. */
const ToOtherStore = {
  operation: VolumeAttemptRef,
  /** What the store has to be: the extra specs of the type, and the zone; null: any. */
  specs: Texts,
  zone: Nullable(Type.String()),
  /** The stores that it may go to; absent: any. */
  amongStores: Type.Optional(Type.Array(StoreId)),
  /** True: it is to stay, unless it has left its store already. */
  isCancelled: Type.Optional(Type.Boolean()),
}

/** How the cell chose a store; absent where it had answered before. */
const DecidedNow = { trace: Type.Optional(Trace) }

/** The first of these that a cell commits for an attempt is its only answer for that attempt, as for a server's build. */
export const VolumeCreateAnswer = Type.Union([
  Type.Object({ outcome: Type.Literal('accepted'), view: VolumeView, ...DecidedNow }),
  Type.Object({ outcome: Type.Literal('refused'), reason: Type.String(), ...DecidedNow }),
  Type.Object({ outcome: Type.Literal('deleted') }),
])
export type VolumeCreateAnswer = Static<typeof VolumeCreateAnswer>

/** 'deleted' is committed and final; 'deleting' is brought to its end by the cell, whose feed then says so. */
export const VolumeDeleteAnswer = Type.Union([
  Type.Object({ outcome: Type.Literal('deleted') }),
  Type.Object({ outcome: Type.Literal('deleting'), view: VolumeView }),
])
export type VolumeDeleteAnswer = Static<typeof VolumeDeleteAnswer>

/** The volume that a server is to have, and how. */
const VolumeToAttach = Type.Object({
  /** Of the attachment. */
  id: Uuid,
  volumeId: Uuid,
  volumeAttempt: Type.Integer({ minimum: 1 }),
  isReadOnly: Type.Boolean(),
  /** Other servers may have it at the same time. */
  isShared: Type.Boolean(),
  tag: Type.Optional(Type.String()),
})

/**
 * In which a guest that runs changes a volume for another: it is made the same; the guest changes over to it; or, before that, it is
 * let go.
 */
export const SWAP_STEPS = ['copy', 'pivot', 'cancel'] as const
export type SwapStep = (typeof SWAP_STEPS)[number]

export const VOLUME_OPERATIONS = {
  'volume.create': {
    ask: Type.Object({ operation: VolumeAttemptRef, volume: VolumeRequest }),
    answer: VolumeCreateAnswer,
  },
  'volume.delete': {
    ask: Type.Object({ operation: VolumeAttemptRef }),
    answer: VolumeDeleteAnswer,
  },
  /** Afterwards the volume is being extended, or has that size already. Throws `conflict` in a state that forbids it. */
  'volume.extend': {
    ask: Type.Object({
      operation: VolumeAttemptRef,
      sizeGb: Type.Integer({ minimum: 1 }),
      /** The server that uses it, whose guest is to see the new size; absent: none does. */
      serverId: Type.Optional(Uuid),
    }),
    answer: Type.Object({ view: VolumeView }),
  },
  /**
   * Afterwards the volume's content is on its way into the image; the volume is `available` again once that is over, with
   * the reason as its fault if it failed. Throws `conflict` in a state that forbids it.
   */
  'volume.upload': {
    ask: Type.Object({
      operation: VolumeAttemptRef,
      target: ImageTarget,
      diskFormat: OneOf(UPLOAD_FORMATS),
      /** The server that uses it, through whose host its content is of one moment; absent: none does. */
      serverId: Type.Optional(Uuid),
      /** Of an encrypted volume that moves to another cell: that cell's answer to `volume.box-key`. Its content goes encrypted. */
      sealFor: Type.Optional(Type.Object({ publicKey: Type.String(), attempt: Type.Integer() })),
    }),
    /** `sealedKey`: the key of the volume, which the other cell alone can open. */
    answer: Type.Object({ view: VolumeView, sealedKey: Type.Optional(Type.String()) }),
  },
  /** The public half of a key by which another cell seals that of an encrypted volume, which is to come in this attempt. */
  'volume.box-key': {
    ask: Type.Object({ operation: VolumeAttemptRef }),
    answer: Type.Object({ publicKey: Type.String() }),
  },
  /**
   * Afterwards the volume is being given the content of its snapshot; it is `available` again once that is over, with the
   * reason as its fault if it failed. Throws `conflict` in a state that forbids it.
   */
  'volume.revert': {
    ask: Type.Object({ operation: VolumeAttemptRef, snapshotId: Uuid }),
    answer: Type.Object({ view: VolumeView }),
  },
  /**
   * Afterwards the volume is being given the content of an image, and keeps its size; it is `available` again once that is over,
   * with the reason as its fault if it failed. Throws `conflict` in a state that forbids it.
   */
  'volume.reimage': {
    ask: Type.Object({ operation: VolumeAttemptRef, image: SourceImage }),
    answer: Type.Object({ view: VolumeView }),
  },
  /**
   * Afterwards the volume, which no server uses and of which there are no snapshots, is on its way to another store of the
   * cell; it is `available` again once that is over, in the other store, or in its own with the reason as its fault. Throws
   * `conflict` in a state that forbids it, and `no-capacity` where no other store can take it.
   */
  'volume.migrate': {
    ask: Type.Object({
      ...ToOtherStore,
      /** Absent: it is not encrypted. */
      encryption: Type.Optional(VolumeEncryption),
    }),
    answer: Type.Object({ view: VolumeView, ...DecidedNow }),
  },
  /**
   * The same of a volume that is encrypted otherwise in the other store; null: not at all. Throws `conflict` also for a volume that
   * is not as `from` says.
   */
  'volume.change-encryption': {
    ask: Type.Object({
      ...ToOtherStore,
      from: Nullable(VolumeEncryption),
      to: Nullable(VolumeEncryption),
    }),
    answer: Type.Object({ view: VolumeView, ...DecidedNow }),
  },
  /** Afterwards the guest has the volume, now and at every start, or does not have it. A repeat changes nothing. */
  'instance.change-volume': {
    ask: Type.Object({
      operation: OperationRef,
      attach: Type.Optional(VolumeToAttach),
      /** The id of an attachment. */
      detach: Type.Optional(Uuid),
    }),
    /** The name that the guest most likely gives it, such as `/dev/vdb`; null: detached, or not known. */
    answer: Type.Object({ device: Nullable(Type.String()) }),
  },
  /**
   * A step of a server that changes a volume for another. After `copy` the other one is the same and stays so; after `pivot`
   * the guest has it, now and at every start, and not the one before; after `cancel`, which comes before a pivot, it has its own alone.
   * A repeat changes nothing. A failure other than `unavailable` means that the guest has the volume that it had.
   */
  'instance.swap-volume': {
    ask: Type.Object({
      operation: OperationRef,
      step: OneOf(SWAP_STEPS),
      /** `id`: of the attachment, which stays; the volume is the other one. */
      to: VolumeToAttach,
    }),
    answer: Type.Object({}),
  },
  /** A page of the cell's volumes in order of id, and the feed position it is at least as new as. */
  'snapshot.volumes': {
    ask: Type.Object({ afterVolume: Nullable(Uuid) }),
    answer: Type.Object({
      incarnation: Uuid,
      position: Type.Integer(),
      volumes: Type.Array(VolumeView),
      isLast: Type.Boolean(),
    }),
  },
} as const
