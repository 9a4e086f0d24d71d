import type { Executor } from '#common/db/database.ts'
import type { HostId, VolumeId, VolumeSnapshotId } from '#common/ids.ts'
import type { VolumeRequest, VolumeSource } from '#openapi/wire/cell-volume.ts'
import type { VolumeSource as ContentForHost } from '#openapi/wire/volume.ts'
import type { Conductor } from '../conductor/conductor.ts'
import { findVolumeSnapshot } from '../db/volume-snapshots.ts'
import { findVolume } from '../db/volumes.ts'
import { hostOfServer } from './host-of-volume.ts'

/** Where the content of a volume comes from, as the log of a saga may have it. */
export type VolumeContent =
  /** As it is now, or as a snapshot of it has it. */
  | { readonly volumeId: VolumeId; readonly snapshotId?: VolumeSnapshotId }
  /** The image with its ticket, which is a secret. */
  | { readonly sealedImage: string; readonly isEncrypted?: true }

type ImageOfVolume = Extract<VolumeSource, { readonly kind: 'image' }>['image']

/** What a volume is made from. */
export interface Found {
  readonly outcome: 'found'
  /** Undefined: it begins empty. */
  readonly source: VolumeContent | undefined
  readonly sourceStoreId: string | null
  /** The host that has to make it, because a guest of that host uses the source; null: any that reaches the store. */
  readonly hostId: HostId | null
}

/** What a volume is made from, or why it cannot be. */
export type FoundSource = Found | { readonly outcome: 'refused'; readonly reason: string }

const SEALED_FOR = 'image of a volume'

/** The image with its ticket, as the log of a saga may have it. */
export function sealedImageOf(
  { secrets }: Pick<Conductor, 'secrets'>,
  image: ImageOfVolume,
): string {
  return secrets.seal(JSON.stringify(image), SEALED_FOR)
}

/** The same as hosts get it. */
export function imageForHost(
  { secrets }: Pick<Conductor, 'secrets'>,
  sealedImage: string,
): ImageOfVolume {
  return JSON.parse(secrets.open(sealedImage, SEALED_FOR)) as ImageOfVolume
}

/** Content as hosts get it. */
export function contentForHost(
  conductor: Pick<Conductor, 'secrets'>,
  content: VolumeContent,
): ContentForHost {
  if ('volumeId' in content) return content
  const image = imageForHost(conductor, content.sealedImage)
  return content.isEncrypted === true ? { sealedImage: image } : { image }
}

/** Finds the source that the request names, in this cell. */
export async function findSource(
  { db, secrets }: Pick<Conductor, 'db' | 'secrets'>,
  { source, sizeGb }: Pick<VolumeRequest, 'source' | 'sizeGb'>,
): Promise<FoundSource> {
  if (source === undefined) return { outcome: 'found', source, sourceStoreId: null, hostId: null }
  if (source.kind === 'image' || source.kind === 'sealed-image') {
    const sealedImage = sealedImageOf({ secrets }, source.image)
    const isEncrypted = source.kind === 'sealed-image' && ({ isEncrypted: true } as const)
    const content = { sealedImage, ...isEncrypted }
    return { outcome: 'found', source: content, sourceStoreId: null, hostId: null }
  }
  if (source.kind === 'snapshot') return findSnapshotSource(db, source, sizeGb)
  const volume = await findVolume(db, source.volumeId as VolumeId)
  if (volume === undefined || volume.attempt !== source.attempt)
    return refused(`Its source, volume ${source.volumeId}, is not in this cell.`)
  if (volume.state !== 'available')
    return refused(`Its source, volume ${volume.id}, is ${volume.state}.`)
  if (volume.sizeGb > sizeGb)
    return refused(`Its source, volume ${volume.id}, has ${volume.sizeGb} GiB, it has ${sizeGb}.`)
  return {
    outcome: 'found',
    source: { volumeId: volume.id },
    sourceStoreId: volume.storeId,
    hostId: (await hostOfServer(db, source.serverId)) ?? null,
  }
}

async function findSnapshotSource(
  db: Executor,
  { snapshotId, volumeId }: Extract<VolumeSource, { readonly kind: 'snapshot' }>,
  sizeGb: number,
): Promise<FoundSource> {
  const snapshot = await findVolumeSnapshot(db, snapshotId)
  if (snapshot?.volumeId !== volumeId)
    return refused(`Its source, snapshot ${snapshotId}, is not in this cell.`)
  if (snapshot.state !== 'available')
    return refused(`Its source, snapshot ${snapshot.id}, is ${snapshot.state}.`)
  if (snapshot.sizeGb > sizeGb)
    return refused(
      `Its source, snapshot ${snapshot.id}, has ${snapshot.sizeGb} GiB, it has ${sizeGb}.`,
    )
  const source = { volumeId: snapshot.volumeId, snapshotId: snapshot.id }
  return { outcome: 'found', source, sourceStoreId: snapshot.storeId, hostId: null }
}

function refused(reason: string): FoundSource {
  return { outcome: 'refused', reason }
}
