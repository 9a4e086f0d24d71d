import { type Static, Type } from 'typebox'
import { ImageTarget } from './act.ts'
import { SWAP_STEPS, UPLOAD_FORMATS, VolumeEncryption } from './cell-volume.ts'
import { ImageFile, ImageLabels, OperationRef } from './instance.ts'
import { OneOf, Uuid } from './scalars.ts'

/** Found in the storage engine; the same on every host that reaches the store. */
const StoreId = Type.String({ minLength: 1, maxLength: 255 })
const Bytes = Type.Integer({ minimum: 0 })

/**
 * What the engine of a store may be unable to do, so that requests for it are refused at once. Stores of a later release
 * may name other abilities, which this list does not have.
 */
export const STORE_LACKS = [
  /** It makes no snapshots. */
  'snapshots',
  /** It extends volumes only while no server uses them. */
  'extend-in-use',
  /** It copies volumes, to others and into images, only while no server uses them. */
  'copy-in-use',
  /** Of a volume that several servers may use it makes snapshots and copies only while none uses it. */
  'copy-shared-in-use',
] as const
export type StoreLack = (typeof STORE_LACKS)[number]

/** Absent: it lacks nothing, or the host is of a release that did not say. */
export const StoreLacks = Type.Optional(Type.Array(Type.String()))

/** A store as its host sees it. */
export const WireStore = Type.Object({
  id: StoreId,
  name: Type.String(),
  /** Such as `dir`, `rbd`, `iscsi`, `fake`. */
  engine: Type.String(),
  totalBytes: Bytes,
  freeBytes: Bytes,
  /** The largest volume that it can take now; absent: one of what is free. */
  largestVolumeBytes: Type.Optional(Bytes),
  /** Other hosts may reach it, too. */
  isShared: Type.Boolean(),
  /** A volume may be attached to several servers at a time. */
  multiattach: Type.Boolean(),
  /** Volumes in it can be encrypted; absent: they cannot. */
  encrypts: Type.Optional(Type.Boolean()),
  lacks: StoreLacks,
})
export type WireStore = Static<typeof WireStore>

/** What opens the encrypted volumes that the work needs; hosts keep it in memory, and no longer than that. Absent: it needs none. */
export const VolumeKeys = Type.Optional(
  Type.Array(Type.Object({ volumeId: Uuid, key: Type.String() })),
)
export type VolumeKeys = Static<typeof VolumeKeys>

/** Names the work and the volume it is about; what a host remembers the outcome by. A new try is a new operation. */
export const VolumeOperationRef = Type.Object({ id: Uuid, store: StoreId, volumeId: Uuid })
export type VolumeOperationRef = Static<typeof VolumeOperationRef>

const ImageContent = Type.Object({
  image: Type.Object({ ...ImageFile.properties, diskFormat: Type.String(), ...ImageLabels }),
})

export const VolumeSource = Type.Union([
  ImageContent,
  /** The encrypted content of the volume itself, which its own key opens. */
  Type.Object({
    sealedImage: Type.Object({
      ...ImageFile.properties,
      diskFormat: Type.String(),
      ...ImageLabels,
    }),
  }),
  /** Its content of now, or of a snapshot. */
  Type.Object({ volumeId: Uuid, snapshotId: Type.Optional(Uuid) }),
  /** A copy that the host has, of so many bytes. */
  Type.Object({ copy: Type.Object({ id: Uuid, sizeBytes: Bytes }) }),
  /** The same where the copy is encrypted otherwise than the volume is to be; the key of the volume opens it. */
  Type.Object({
    sealedCopy: Type.Object({ id: Uuid, sizeBytes: Bytes, encryption: VolumeEncryption }),
  }),
])
export type VolumeSource = Static<typeof VolumeSource>

export const VolumeCreate = Type.Object({
  operation: VolumeOperationRef,
  bytes: Bytes,
  /** The content to begin with; absent: zeros. */
  from: Type.Optional(VolumeSource),
  /** Absent: it is not encrypted. */
  encryption: Type.Optional(VolumeEncryption),
  keys: VolumeKeys,
})
export const VolumeDestroy = Type.Object({ operation: VolumeOperationRef })
export const VolumeExtend = Type.Object({ operation: VolumeOperationRef, bytes: Bytes })
export const VolumeSnapshot = Type.Object({
  operation: VolumeOperationRef,
  snapshotId: Uuid,
  keys: VolumeKeys,
})

/** The volume gets the content of an image. */
export const VolumeReimage = Type.Object({
  operation: VolumeOperationRef,
  from: ImageContent,
  keys: VolumeKeys,
})

/** The volume's content goes into an image. */
export const VolumeExport = Type.Object({
  operation: VolumeOperationRef,
  target: ImageTarget,
  diskFormat: OneOf(UPLOAD_FORMATS),
  /** True: of an encrypted volume, whose content goes encrypted. */
  isSealed: Type.Optional(Type.Boolean()),
})

/** The host makes a copy of the volume, which it keeps for those that read it. */
export const VolumePack = Type.Object({
  operation: VolumeOperationRef,
  copy: Uuid,
  /** How the copy of a volume that is not encrypted is to be, with the key that the volume will have; absent: as the volume is. */
  encryption: Type.Optional(VolumeEncryption),
  keys: VolumeKeys,
})

/** Those of one store. `after`: only volumes whose ids come after it. */
export const VolumeList = Type.Object({ store: StoreId, after: Type.Optional(Uuid) })
export const VolumeListAnswer = Type.Object({
  /** By id. */
  volumes: Type.Array(Type.Object({ id: Uuid, bytes: Bytes, snapshots: Type.Array(Uuid) })),
  /** True: those after the last one have to be asked for. */
  hasMore: Type.Optional(Type.Boolean()),
})
export type VolumeListAnswer = Static<typeof VolumeListAnswer>

/** A volume that a guest has released after its detach had been given up. */
export const ReleasedVolume = Type.Object({ volumeId: Uuid, attachmentId: Uuid })
export type ReleasedVolume = Static<typeof ReleasedVolume>

/** How a server has a volume. */
export const WireAttachment = Type.Object({
  id: Uuid,
  store: StoreId,
  volumeId: Uuid,
  isReadOnly: Type.Boolean(),
  /** Other servers may have it at the same time. */
  isShared: Type.Boolean(),
  /** By which the guest finds it in its metadata; absent: none. */
  tag: Type.Optional(Type.String()),
})
export type WireAttachment = Static<typeof WireAttachment>

export const VolumeAttach = Type.Object({
  operation: OperationRef,
  attachment: WireAttachment,
  keys: VolumeKeys,
})
export const VolumeDetach = Type.Object({ operation: OperationRef, attachmentId: Uuid })

/** `to` has the id of the attachment, which stays, and the other volume. */
export const VolumeSwap = Type.Object({
  operation: OperationRef,
  step: OneOf(SWAP_STEPS),
  to: WireAttachment,
  keys: VolumeKeys,
})
