import { type Static, Type } from 'typebox'
import { Nullable, OneOf, Time, Uuid } from './scalars.ts'

/** Names the wire operation and the snapshot it is about. A snapshot is given to one cell, once: that of its volume. */
export const VolumeSnapshotRef = Type.Object({ id: Uuid, snapshotId: Uuid })
export type VolumeSnapshotRef = Static<typeof VolumeSnapshotRef>

/** What a cell's snapshot is doing. In `error` and `error-deleting` it waits for its user, with the reason as its fault. */
export const VOLUME_SNAPSHOT_STATES = [
  'creating',
  'available',
  'deleting',
  'error',
  'error-deleting',
] as const
export type VolumeSnapshotState = (typeof VOLUME_SNAPSHOT_STATES)[number]

/** A snapshot of a volume as its cell shows it; `version` grows with every change. */
export const VolumeSnapshotView = Type.Object({
  snapshotId: Uuid,
  version: Type.Integer({ minimum: 1 }),
  state: OneOf(VOLUME_SNAPSHOT_STATES),
  /** That of its volume when it was made. */
  sizeGb: Type.Integer({ minimum: 1 }),
  /** The reason for its last failed change, for operators; null: none failed. */
  fault: Nullable(Type.String()),
  updatedAt: Time,
})
export type VolumeSnapshotView = Static<typeof VolumeSnapshotView>

/** The first of these that a cell commits is its only answer, as for a volume. */
export const VolumeSnapshotCreateAnswer = Type.Union([
  Type.Object({ outcome: Type.Literal('accepted'), view: VolumeSnapshotView }),
  Type.Object({ outcome: Type.Literal('refused'), reason: Type.String() }),
  Type.Object({ outcome: Type.Literal('deleted') }),
])
export type VolumeSnapshotCreateAnswer = Static<typeof VolumeSnapshotCreateAnswer>

/** 'deleted' is committed and final; 'deleting' is brought to its end by the cell, whose feed then says so. */
export const VolumeSnapshotDeleteAnswer = Type.Union([
  Type.Object({ outcome: Type.Literal('deleted') }),
  Type.Object({ outcome: Type.Literal('deleting'), view: VolumeSnapshotView }),
])
export type VolumeSnapshotDeleteAnswer = Static<typeof VolumeSnapshotDeleteAnswer>

export const VOLUME_SNAPSHOT_OPERATIONS = {
  'volume-snapshot.create': {
    ask: Type.Object({
      operation: VolumeSnapshotRef,
      volume: Type.Object({
        volumeId: Uuid,
        attempt: Type.Integer({ minimum: 1 }),
        /** The server that uses it, through whose host the snapshot is of one moment; absent: none does. */
        serverId: Type.Optional(Uuid),
      }),
    }),
    answer: VolumeSnapshotCreateAnswer,
  },
  'volume-snapshot.delete': {
    ask: Type.Object({ operation: VolumeSnapshotRef }),
    answer: VolumeSnapshotDeleteAnswer,
  },
  /** A page of the cell's snapshots of volumes in order of id, and the feed position it is at least as new as. */
  'snapshot.volume-snapshots': {
    ask: Type.Object({ afterSnapshot: Nullable(Uuid) }),
    answer: Type.Object({
      incarnation: Uuid,
      position: Type.Integer(),
      snapshots: Type.Array(VolumeSnapshotView),
      isLast: Type.Boolean(),
    }),
  },
} as const
