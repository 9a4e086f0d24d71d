import { Failure, isFailure } from '#common/errors.ts'
import { type AttachmentId, type CellId, type ImageId, newId, type VolumeId } from '#common/ids.ts'
import type { BuildVolume } from '#openapi/wire/instance.ts'
import type { BootImage } from '../../images/image-for-boot.ts'
import type { RequestContext } from '../../request-context.ts'
import { type DescribedVolume, describeVolume } from '../../volumes/describe-volume.ts'
import { refuseUnknownSharing } from '../../volumes/hold-volume.ts'
import type { Volume } from '../../volumes/volume.ts'
import { showVolume } from '../../volumes/volumes.ts'
import type { Boot } from './boot.ts'
import type { RequestedVolume } from './requested-volumes.ts'

/** What is decided of one volume of every server of a request. */
interface VolumeTemplate {
  readonly requested: RequestedVolume
  /** The volume there is, or what each server gets a new one like. */
  readonly from: { readonly volume: Volume } | { readonly described: DescribedVolume }
}

/** The volumes that the servers of a request have from the start. */
export interface VolumesPlan {
  readonly templates: readonly VolumeTemplate[]
  /** The cell that has those there are; null: any that has a store. */
  readonly cellId: CellId | null
  /** What the first disk says of its image; null: the first disk is no volume. */
  readonly image: BootImage | null
}

/** One volume of one server. */
export interface PlannedVolume {
  readonly attachmentId: AttachmentId
  readonly volumeId: VolumeId
  readonly requested: RequestedVolume
  /** How the volume is made with the server; undefined: it is there. */
  readonly described: DescribedVolume | undefined
  readonly build: BuildVolume
}

/**
 * Decides on the volumes of a request; undefined: there are none. Throws `invalid` for a volume, image or type that the
 * requester cannot see, and for what cannot be attached or started from.
 */
export async function planVolumes(
  boot: Boot,
  context: RequestContext & { readonly projectId: string },
  requested: readonly RequestedVolume[],
  zone: string | null,
): Promise<VolumesPlan | undefined> {
  if (requested.length === 0) return undefined
  const templates: VolumeTemplate[] = []
  for (const each of requested)
    templates.push({ requested: each, from: await sourceOf(boot, context, each, zone) })
  for (const { from } of templates)
    refuseUnknownSharing(context, 'volume' in from ? from.volume : from.described.row)
  const cells = new Set(templates.map(({ from }) => cellOf(from)).filter((id) => id !== null))
  if (cells.size > 1)
    throw new Failure('invalid', 'Invalid volume: The volumes are not in the same cell.')
  const root = templates.find(({ requested: { isRoot } }) => isRoot)
  const [cellId = null] = cells
  refuseOtherZone(boot, { cellId, zone, templates })
  return { templates, cellId, image: root === undefined ? null : imageOf(root) }
}

/** Throws `invalid`, in the words of a Nova without `cross_az_attach`, for a zone that the cell of the volumes does not have. */
function refuseOtherZone(
  { compute }: Boot,
  { cellId, zone, templates }: Pick<VolumesPlan, 'cellId' | 'templates'> & { zone: string | null },
): void {
  const zones = cellId === null ? undefined : compute.cells.cell(cellId)?.summary?.zones
  if (zone === null || zones === undefined || zones.includes(zone)) return
  const there = templates.flatMap(({ from }) => ('volume' in from ? (from.volume.zone ?? []) : []))
  // The zone of a cell whose hosts are all down is not among those that it has now.
  if (there.includes(zone)) return
  const volumesIn = [...new Set(there.length === 0 ? zones : there)].join(', ')
  throw new Failure(
    'invalid',
    `The availability zone between the server and its attached volumes do not match: Server and volumes are not in the same availability zone. Server is in: ${zone}. Volumes are in: ${volumesIn}.`,
  )
}

async function sourceOf(
  { compute, images }: Boot,
  context: RequestContext & { readonly projectId: string },
  { volumeId, source, sizeGb, type }: RequestedVolume,
  zone: string | null,
): Promise<VolumeTemplate['from']> {
  if (volumeId !== undefined)
    return { volume: await showVolume(compute, context, volumeId).catch(refuseAbsent) }
  const request = { name: '', description: '', metadata: {}, zone, sizeGb, type, source }
  const described = await describeVolume({ compute, images }, context, request).catch(refuseAbsent)
  return { described }
}

/** Throws `invalid` in its place: the server that was asked for is not what there is not. */
function refuseAbsent(error: unknown): never {
  if (!isFailure(error, 'not-found')) throw error
  const message = `Block Device Mapping is Invalid: ${error.message}`
  throw new Failure('invalid', message, { cause: error })
}

function cellOf(from: VolumeTemplate['from']): CellId | null {
  return 'volume' in from ? from.volume.cellId : from.described.only
}

/** As Nova sees the image of such a server: by what the volume keeps of it. */
function imageOf({ from }: VolumeTemplate): BootImage {
  const { isBootable, imageMetadata } = 'volume' in from ? from.volume : from.described.row
  const madeFrom = 'volume' in from ? from.volume.id : snapshotted(from.described)
  if (madeFrom !== undefined && !isBootable)
    throw new Failure(
      'invalid',
      `Block Device Mapping is Invalid: Block Device ${madeFrom} is not bootable.`,
    )
  const {
    image_id: id = NO_IMAGE,
    image_name: name = '',
    min_ram: minRam = '0',
    ...others
  } = imageMetadata ?? {}
  const properties = Object.fromEntries(Object.entries(others).filter(([name]) => !OWN.has(name)))
  return {
    id: id as ImageId,
    name,
    diskFormat: 'raw',
    sizeBytes: 0,
    sha256: '0'.repeat(64),
    minDiskGb: 0,
    minRamMb: Number(minRam),
    properties,
  }
}

/** The volume of whose snapshot it is made; undefined: it is made of something else. */
function snapshotted({ row: { source } }: DescribedVolume): string | undefined {
  return source?.kind === 'snapshot' ? source.volumeId : undefined
}

/** A volume of no image: nothing reads one. */
const NO_IMAGE = '00000000-0000-0000-0000-000000000000'
/** What an image says of its own content. */
const OWN: ReadonlySet<string> = new Set([
  'checksum',
  'container_format',
  'disk_format',
  'min_disk',
  'size',
])

/** The volumes of one more server. */
export function plannedVolumes(plan: VolumesPlan | undefined): readonly PlannedVolume[] {
  return (plan?.templates ?? []).map(({ requested, from }) => {
    const attachmentId = newId<AttachmentId>()
    const isNew = 'described' in from
    const volumeId = isNew ? newId<VolumeId>() : from.volume.id
    const { tag, isRoot } = requested
    const build = {
      id: attachmentId,
      volumeId,
      volumeAttempt: isNew ? 1 : from.volume.attempt,
      isReadOnly: !isNew && from.volume.isReadOnly === true,
      isShared: isNew ? from.described.row.isMultiattach : from.volume.isMultiattach,
      ...(tag !== null && { tag }),
      ...(isRoot && { isRoot: true as const }),
    }
    const described = isNew ? from.described : undefined
    return { attachmentId, volumeId, requested, described, build }
  })
}
