import type { HostId, SagaId, VolumeId, VolumeSnapshotId } from '#common/ids.ts'
import type { VolumeSnapshotState, VolumeSnapshotView } from '#openapi/wire/cell-volume-snapshot.ts'

/** A snapshot of a volume of this cell, as its row says. Times in milliseconds since the epoch. */
export interface VolumeSnapshot {
  readonly id: VolumeSnapshotId
  readonly volumeId: VolumeId
  /** Grows with every change. */
  readonly version: number
  readonly state: VolumeSnapshotState
  /** That of the volume when it was made. */
  readonly sizeGb: number
  readonly storeId: string
  readonly storeName: string
  /** The host that made it, which is asked first. */
  readonly hostId: HostId
  readonly fault: string | null
  /** The saga that is changing it; null when none is. */
  readonly sagaId: SagaId | null
  readonly updatedAt: number
}

/** The view of the snapshot that gateways receive. */
export function volumeSnapshotView(snapshot: VolumeSnapshot): VolumeSnapshotView {
  const { id: snapshotId, version, state, sizeGb, fault, updatedAt } = snapshot
  return { snapshotId, version, state, sizeGb, fault, updatedAt }
}
