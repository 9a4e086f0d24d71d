import type { RequestContext } from '../../app/request-context.ts'
import type { UploadRequest } from '../../app/volumes/upload-volume.ts'
import type { ShownVolume, Volume } from '../../app/volumes/volume.ts'
import type { VolumeAttachment } from '../../db/volume-attachments.ts'
import type { Links } from '../../http/links.ts'
import type { ViewLink } from '../links.ts'
import { plainTime } from '../time.ts'

/** What a view shows besides the volume itself. */
export interface VolumeViewParts {
  readonly links: Links
  /** By id. */
  readonly typeNames: ReadonlyMap<string, string>
  readonly cellNames: ReadonlyMap<string, string>
  /** By volume. */
  readonly attachments: ReadonlyMap<string, readonly VolumeAttachment[]>
}

/** Makes the view of volumes as lists name them. */
export function volumeSummarizer(links: Links) {
  const linksOf = volumeLinker(links)
  return ({ id, name }: Pick<Volume, 'id' | 'name'>) => ({
    id,
    name: name ?? '',
    links: linksOf(id),
  })
}

export type VolumeView = ReturnType<ReturnType<typeof volumeViewer>>

const NOTHING: readonly never[] = []

/**
 * Makes the view of volumes for one caller, with every field; those of later microversions are pruned. What is the same
 * for all volumes is made once: this runs a thousand times for a page.
 */
export function volumeViewer({ isAdmin }: Pick<RequestContext, 'isAdmin'>, parts: VolumeViewParts) {
  const linksOf = volumeLinker(parts.links)
  return (volume: ShownVolume) => {
    const { id, typeId, source, updatedAt } = volume
    const held = parts.attachments.get(id)
    return {
      id,
      name: volume.name ?? '',
      description: volume.description,
      size: volume.sizeGb,
      status: volume.status,
      created_at: plainTime(volume.createdAt),
      updated_at: updatedAt === null ? null : plainTime(updatedAt),
      availability_zone: volume.zone,
      volume_type: typeId === null ? null : (parts.typeNames.get(typeId) ?? null),
      volume_type_id: typeId,
      bootable: volume.isBootable ? ('true' as const) : ('false' as const),
      encrypted: volume.encryption !== null,
      multiattach: volume.isMultiattach,
      snapshot_id: source?.kind === 'snapshot' ? source.snapshotId : null,
      source_volid: source?.kind === 'volume' ? source.volumeId : null,
      consistencygroup_id: null,
      replication_status: null,
      metadata: shownMetadata(volume),
      attachments: held === undefined ? NOTHING : held.map(attachmentView),
      user_id: volume.userId,
      'os-vol-tenant-attr:tenant_id': volume.projectId,
      group_id: null,
      service_uuid: null,
      shared_targets: false,
      consumes_quota: true,
      links: linksOf(id),
      // Absent where undefined. A spread instead would have V8 make the object one property after the other.
      volume_image_metadata: volume.imageMetadata ?? undefined,
      ...(isAdmin && adminFields(volume, parts)),
    }
  }
}

/** Makes Cinder's two links to a volume. */
function volumeLinker(links: Links) {
  const self = links.to('/volume/v3/volumes/')
  const bookmark = links.to('/volume/volumes/')
  return (id: string): readonly ViewLink[] => [
    { rel: 'self', href: self + id },
    { rel: 'bookmark', href: bookmark + id },
  ]
}

/** As in Cinder, which shows among the metadata of a volume what it keeps of it itself. */
function shownMetadata({ metadata, isReadOnly }: ShownVolume): Volume['metadata'] {
  return isReadOnly === null ? metadata : { ...metadata, readonly: isReadOnly ? 'True' : 'False' }
}

/** A volume that is being made into an image; the fields of the image since 3.1 are pruned before. */
export function volumeUploadView(
  { volume, imageId }: { readonly volume: Volume; readonly imageId: string },
  {
    imageName,
    diskFormat,
    containerFormat,
    visibility,
    isProtected,
  }: Omit<UploadRequest, 'mayBeInUse'>,
  typeNames: VolumeViewParts['typeNames'],
) {
  const { id, typeId, updatedAt } = volume
  const name = typeId === null ? undefined : typeNames.get(typeId)
  return {
    id,
    status: volume.status,
    size: volume.sizeGb,
    updated_at: updatedAt === null ? null : plainTime(updatedAt),
    display_description: volume.description,
    volume_type: typeId === null || name === undefined ? null : { id: typeId, name },
    image_id: imageId,
    image_name: imageName,
    disk_format: diskFormat,
    container_format: containerFormat,
    visibility,
    protected: isProtected,
  }
}

function adminFields({ cellId, storeName, fault }: ShownVolume, { cellNames }: VolumeViewParts) {
  const cell = cellId === null ? undefined : (cellNames.get(cellId) ?? cellId)
  return {
    'os-vol-host-attr:host':
      cell === undefined || storeName === null ? null : `${cell}@${storeName}`,
    'os-vol-mig-status-attr:migstat': null,
    'os-vol-mig-status-attr:name_id': null,
    migration_status: null,
    provider_id: null,
    cluster_name: null,
    'weir:fault': fault,
  }
}

function attachmentView({ id, volumeId, serverId, device, createdAt }: VolumeAttachment) {
  return {
    id: volumeId,
    attachment_id: id,
    volume_id: volumeId,
    server_id: serverId,
    host_name: null,
    device,
    attached_at: plainTime(createdAt),
  }
}
