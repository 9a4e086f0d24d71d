import { Failure } from '#common/errors.ts'
import type { WantedSource } from '../../volumes/volume-source.ts'
import type { RequestedDisk, ServerRequest } from './server-request.ts'

/** A volume that a server is to have from the start. */
export interface RequestedVolume {
  /** The id of a volume there is; undefined: it is made with the server. */
  readonly volumeId: string | undefined
  /** What a new one is made from; null: it begins empty. */
  readonly source: WantedSource | null
  /** Of a new one, in GiB; null: that of its source. */
  readonly sizeGb: number | null
  /** Of a new one, by id or name; null: the default. */
  readonly type: string | null
  readonly tag: string | null
  /** It is deleted with the server. */
  readonly deletesVolume: boolean
  /** It is the server's first disk. */
  readonly isRoot: boolean
}

/** The most disks that a guest can have. */
const VOLUMES_MAX = 20

/** The volumes among the disks of a request, checked as far as that is possible without looking at them. Throws `invalid`, in Nova's words. */
export function requestedVolumes({
  disks,
  maxCount,
}: Pick<ServerRequest, 'disks' | 'maxCount'>): readonly RequestedVolume[] {
  const volumes = disks.filter(isVolume).map(volumeOf)
  if (volumes.length > VOLUMES_MAX)
    refuse(`a server is built with at most ${VOLUMES_MAX} volumes; attach more afterwards.`)
  const named = volumes.flatMap(({ volumeId }) => volumeId ?? [])
  if (new Set(named).size < named.length) refuse('a volume is named more than once.')
  if (named.length > 0 && maxCount > 1)
    throw new Failure('invalid', 'Cannot attach one or more volumes to multiple instances')
  return volumes
}

/** True for a disk that is a volume. What is made from a volume, or from a snapshot of one, always is. */
export function isVolume({ sourceType, destinationType }: RequestedDisk): boolean {
  return sourceType === 'volume' || sourceType === 'snapshot' || destinationType === 'volume'
}

function volumeOf(disk: RequestedDisk): RequestedVolume {
  const { sourceType, sourceId, destinationType, size, bootIndex } = disk
  if (destinationType === 'local') refuse(`Mapping ${sourceType} to local is not supported.`)
  const common = {
    sizeGb: size ?? null,
    type: disk.volumeType ?? null,
    tag: disk.tag ?? null,
    deletesVolume: disk.deletesVolume ?? false,
    isRoot: bootIndex === 0,
  }
  switch (sourceType) {
    case 'volume':
      return { ...common, volumeId: sourceId ?? refuse('Missing device UUID.'), source: null }
    case 'image': {
      const id = sourceId ?? refuse('Missing device UUID.')
      if (size === undefined)
        refuse("Images with destination_type 'volume' need to have a non-zero size specified")
      return { ...common, volumeId: undefined, source: { kind: 'image', id } }
    }
    case 'snapshot': {
      const id = sourceId ?? refuse('Missing device UUID.')
      return { ...common, volumeId: undefined, source: { kind: 'snapshot', id } }
    }
    case undefined:
    default:
      if (sourceId !== undefined) refuse('Invalid device UUID.')
      if (size === undefined)
        refuse("Blank volumes (source: 'blank', dest: 'volume') need to have non-zero size")
      if (common.isRoot) refuse('a server does not start from an empty volume.')
      return { ...common, volumeId: undefined, source: null }
  }
}

function refuse(details: string): never {
  throw new Failure('invalid', `Block Device Mapping is Invalid: ${details}`)
}
