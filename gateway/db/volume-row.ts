import type { CellId, VolumeId } from '#common/ids.ts'
import type { ShownVolume, VolumeStatus } from '../app/volumes/volume.ts'
import { jsonText, parseShared } from './json-text.ts'
import { volumes } from './schema/volumes.ts'

/** What to select so that `shownVolumeOf` can read the row: half of what a volume has. */
export const VOLUME_COLUMNS = {
  id: volumes.id,
  project_id: volumes.projectId,
  user_id: volumes.userId,
  name: volumes.name,
  description: volumes.description,
  metadata: jsonText(volumes.metadata, 'metadata'),
  type_id: volumes.typeId,
  zone: volumes.zone,
  size_gb: volumes.sizeGb,
  status: volumes.status,
  is_bootable: volumes.isBootable,
  encryption: jsonText(volumes.encryption, 'encryption'),
  is_multiattach: volumes.isMultiattach,
  is_read_only: volumes.isReadOnly,
  source: jsonText(volumes.source, 'source'),
  image_metadata: jsonText(volumes.imageMetadata, 'image_metadata'),
  cell_id: volumes.cellId,
  store_name: volumes.storeName,
  fault: volumes.fault,
  created_at: volumes.createdAt,
  updated_at: volumes.updatedAt,
} as const

/** A row of `VOLUME_COLUMNS` as the driver hands it over: JSON as text, booleans as 0 and 1. */
export interface VolumeRow {
  readonly id: VolumeId
  readonly project_id: string
  readonly user_id: string
  readonly name: string | null
  readonly description: string | null
  readonly metadata: string
  readonly type_id: string | null
  readonly zone: string | null
  readonly size_gb: number
  readonly status: VolumeStatus
  readonly is_bootable: number
  readonly encryption: string | null
  readonly is_multiattach: number
  readonly is_read_only: number | null
  readonly source: string | null
  readonly image_metadata: string | null
  readonly cell_id: CellId | null
  readonly store_name: string | null
  readonly fault: string | null
  readonly created_at: Date
  readonly updated_at: Date | null
}

export function shownVolumeOf(row: VolumeRow): ShownVolume {
  return {
    id: row.id,
    projectId: row.project_id,
    userId: row.user_id,
    name: row.name,
    description: row.description,
    metadata: parseShared(row.metadata),
    typeId: row.type_id,
    zone: row.zone,
    sizeGb: row.size_gb,
    status: row.status,
    isBootable: Boolean(row.is_bootable),
    encryption: row.encryption === null ? null : parseShared(row.encryption),
    isMultiattach: Boolean(row.is_multiattach),
    isReadOnly: row.is_read_only === null ? null : Boolean(row.is_read_only),
    source: row.source === null ? null : (JSON.parse(row.source) as ShownVolume['source']),
    imageMetadata: row.image_metadata === null ? null : parseShared(row.image_metadata),
    cellId: row.cell_id,
    storeName: row.store_name,
    fault: row.fault,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
