import type { CellId, SagaId, VolumeId, VolumeSnapshotId } from '#common/ids.ts'

/** Cinder's words for what a snapshot does. */
export const VOLUME_SNAPSHOT_STATUSES = [
  'creating',
  'available',
  'deleting',
  'error',
  'error_deleting',
] as const
export type VolumeSnapshotStatus = (typeof VOLUME_SNAPSHOT_STATUSES)[number]

/** A snapshot of a volume as the gateways know it. Times in milliseconds since the epoch, sizes in GiB. */
export interface VolumeSnapshot {
  readonly id: VolumeSnapshotId
  readonly projectId: string
  readonly userId: string
  readonly volumeId: VolumeId
  readonly name: string | null
  readonly description: string | null
  readonly metadata: Readonly<Record<string, string>>
  /** That of its volume. */
  readonly typeId: string | null
  /** That of its volume when it was made, for which the quota was charged. */
  readonly sizeGb: number
  readonly status: VolumeSnapshotStatus
  readonly isDeleting: boolean
  /** Null when the cell of its volume could not make it. */
  readonly cellId: CellId | null
  readonly cellVersion: number
  /** For operators. */
  readonly fault: string | null
  readonly sagaId: SagaId | null
  readonly revision: number
  readonly createdAt: Date
  readonly updatedAt: Date | null
}

/** The statuses in which Cinder deletes a snapshot that is not forced. */
export const DELETABLE_SNAPSHOT: readonly VolumeSnapshotStatus[] = [
  'available',
  'error',
  'error_deleting',
]
