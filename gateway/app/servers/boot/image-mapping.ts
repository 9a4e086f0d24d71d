import { Failure } from '#common/errors.ts'
import type { VolumeAttachment } from '../../../db/volume-attachments.ts'
import type { BootImage } from '../../images/image-for-boot.ts'
import type { VolumeSnapshot } from '../../volume-snapshots/volume-snapshot.ts'
import type { RequestedDisk, ServerRequest } from './server-request.ts'

/** The property by which an image of a server that starts from a volume names snapshots, in Nova's form. */
const MAPPING = 'block_device_mapping'

/** A volume of a server that is kept, and the snapshot that keeps it. */
export interface KeptVolume {
  readonly attachment: Pick<VolumeAttachment, 'isRoot' | 'deletesVolume' | 'tag' | 'device'>
  readonly snapshot: Pick<VolumeSnapshot, 'id' | 'sizeGb'>
}

/** The properties of an image of which a server with such volumes can be built (nova/compute/api.py, `snapshot_volume_backed`). */
export function mappingProperties(
  volumes: readonly KeptVolume[],
): Readonly<Record<string, string>> {
  const disks = volumes.map(({ attachment, snapshot }) => ({
    source_type: 'snapshot',
    destination_type: 'volume',
    snapshot_id: snapshot.id,
    volume_size: snapshot.sizeGb,
    boot_index: attachment.isRoot ? 0 : null,
    delete_on_termination: attachment.deletesVolume,
    tag: attachment.tag,
    device_name: attachment.device,
    device_type: 'disk',
    disk_bus: 'virtio',
  }))
  return { [MAPPING]: JSON.stringify(disks), bdm_v2: 'True', root_device_name: '/dev/vda' }
}

/** Whether the image has no content of its own, but names snapshots of volumes. */
export function namesVolumes({ properties }: Pick<BootImage, 'properties'>): boolean {
  return !['', '[]'].includes(properties[MAPPING] ?? '')
}

/**
 * The request with the volumes that its image names in the place of the image; undefined for an image of one disk. A disk of the
 * request with the same boot index counts instead of the image's. Throws `invalid` for a mapping that cannot be read.
 */
export function withMappedVolumes(
  request: ServerRequest,
  { id, properties }: Pick<BootImage, 'id' | 'properties'>,
): ServerRequest | undefined {
  const text = properties[MAPPING]
  if (text === undefined || !namesVolumes({ properties })) return undefined
  // Clients describe the disk of the image as a block device, too.
  const asked = request.disks.filter(({ sourceType, destinationType, sourceId }) => {
    return sourceType !== 'image' || destinationType !== 'local' || sourceId !== id
  })
  const taken = new Set(asked.flatMap(({ bootIndex }) => bootIndex ?? []))
  const mapped = readMapping(id, text).filter(({ bootIndex }) => !taken.has(bootIndex ?? -1))
  return { ...request, imageRef: null, disks: [...mapped, ...asked] }
}

function readMapping(imageId: string, text: string): readonly RequestedDisk[] {
  const disks = parsed(text)
  if (!Array.isArray(disks) || !disks.every((disk) => typeof disk === 'object' && disk !== null))
    throw new Failure('invalid', `The ${MAPPING} of image ${imageId} is no list of disks.`)
  return (disks as Readonly<Record<string, unknown>>[]).map(diskOf)
}

function diskOf(disk: Readonly<Record<string, unknown>>): RequestedDisk {
  const word = (name: string) => {
    const value = disk[name]
    return typeof value === 'string' && value !== '' ? value : undefined
  }
  const size = Number(disk['volume_size'] ?? Number.NaN)
  return {
    sourceType: word('source_type'),
    destinationType: word('destination_type') ?? 'volume',
    sourceId: word('snapshot_id') ?? word('volume_id') ?? word('image_id'),
    bootIndex: typeof disk['boot_index'] === 'number' ? disk['boot_index'] : undefined,
    guestFormat: undefined,
    size: Number.isInteger(size) && size > 0 ? size : undefined,
    volumeType: word('volume_type'),
    tag: word('tag'),
    deletesVolume: disk['delete_on_termination'] === true,
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
