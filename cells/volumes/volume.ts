import type { HostId, SagaId, VolumeId } from '#common/ids.ts'
import type { VolumeState, VolumeView } from '#openapi/wire/cell-volume.ts'

/** A volume of this cell, as its row says. Times in milliseconds since the epoch. */
export interface Volume {
  readonly id: VolumeId
  readonly attempt: number
  /** Grows with every change within an attempt. */
  readonly version: number
  readonly projectId: string
  readonly state: VolumeState
  readonly sizeGb: number
  readonly storeId: string
  readonly storeName: string
  /** The host that made it, which is asked first. */
  readonly hostId: HostId
  readonly zone: string
  readonly fault: string | null
  /** The image whose content it was given last, after it was made; null: none was. */
  readonly imageId: string | null
  /** The saga that is changing it; null when none is. */
  readonly sagaId: SagaId | null
  readonly updatedAt: number
}

/** The view of the volume that gateways receive. */
export function volumeView(volume: Volume): VolumeView {
  const { id, projectId: _project, hostId: _host, sagaId: _saga, imageId, ...shown } = volume
  return { volumeId: id, ...shown, ...(imageId !== null && { imageId }) }
}
