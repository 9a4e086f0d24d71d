import type { HostId, InstanceId, VolumeId } from '#common/ids.ts'
import type { VolumeRequest } from '#openapi/wire/cell-volume.ts'
import type { Conductor } from '../conductor/conductor.ts'
import { findInstance } from '../db/instances.ts'
import { findVolume } from '../db/volumes.ts'

/** What a volume is made from. */
export interface Found {
  readonly outcome: 'found'
  /** Undefined: it begins empty. */
  readonly source: { readonly volumeId: VolumeId } | undefined
  readonly sourceStoreId: string | null
  /** The host that has to make it, because a guest of that host uses the source; null: any that reaches the store. */
  readonly hostId: HostId | null
}

/** What a volume is made from, or why it cannot be. */
export type FoundSource = Found | { readonly outcome: 'refused'; readonly reason: string }

/** Finds the source that the request names, in this cell. */
export async function findSource(
  { db }: Pick<Conductor, 'db'>,
  { source, sizeGb }: Pick<VolumeRequest, 'source' | 'sizeGb'>,
): Promise<FoundSource> {
  if (source === undefined) return { outcome: 'found', source, sourceStoreId: null, hostId: null }
  const volume = await findVolume(db, source.volumeId as VolumeId)
  if (volume === undefined || volume.attempt !== source.attempt)
    return refused(`Its source, volume ${source.volumeId}, is not in this cell.`)
  if (volume.state !== 'available')
    return refused(`Its source, volume ${volume.id}, is ${volume.state}.`)
  if (volume.sizeGb > sizeGb)
    return refused(`Its source, volume ${volume.id}, has ${volume.sizeGb} GiB, it has ${sizeGb}.`)
  const { serverId } = source
  const instance =
    serverId === undefined ? undefined : await findInstance(db, serverId as InstanceId)
  return {
    outcome: 'found',
    source: { volumeId: volume.id },
    sourceStoreId: volume.storeId,
    hostId: instance?.placed?.hostId ?? null,
  }
}

function refused(reason: string): FoundSource {
  return { outcome: 'refused', reason }
}
