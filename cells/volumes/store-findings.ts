import type { VolumeId, VolumeSnapshotId } from '#common/ids.ts'
import type { VolumeListAnswer } from '#openapi/wire/volume.ts'
import type { Volume } from './volume.ts'
import type { VolumeSnapshot } from './volume-snapshot.ts'

/** What the cell has in a store, by its rows. */
export interface StoreRows {
  readonly volumes: readonly Volume[]
  readonly snapshots: readonly VolumeSnapshot[]
  /** Volumes of other stores that are on their way here, or have left content here. */
  readonly copies: readonly VolumeId[]
}

/** A volume as a host found it in the store. */
export type ListedVolume = VolumeListAnswer['volumes'][number]

/** Where a store and the cell's rows disagree. */
export interface StoreFindings {
  readonly missing: readonly Volume[]
  /** They were missing, and are there. */
  readonly returned: readonly Volume[]
  readonly missingSnapshots: readonly VolumeSnapshot[]
  readonly returnedSnapshots: readonly VolumeSnapshot[]
  readonly unknown: readonly ListedVolume[]
  readonly unknownSnapshots: readonly {
    readonly volumeId: VolumeId
    readonly snapshotId: VolumeSnapshotId
  }[]
}

/** The fault of a volume or snapshot that its store no longer has. */
export const MISSING = 'It is not in its store any more.'

/** For so long, hosts may not see what another one has just made: NFS keeps what a folder holds. */
const SETTLED_MS = 300_000

/**
 * Compares what a host listed with the rows that were read before and after. Something that is being made or deleted has a
 * row that changes, or is in one of the two readings; only rows that nothing has changed for minutes can be missing.
 */
export function storeFindings(
  listed: readonly ListedVolume[],
  before: StoreRows,
  after: StoreRows,
  now: number,
): StoreFindings {
  const there = new Map(listed.map((volume) => [volume.id, volume]))
  const known = new Set<string>([
    ...[...before.volumes, ...after.volumes].map(({ id }) => id),
    ...before.copies,
    ...after.copies,
  ])
  const knownSnapshots = new Set<string>(
    [...before.snapshots, ...after.snapshots].map(({ id }) => id),
  )
  const volumes = unchanged(before.volumes, after.volumes)
  // Snapshots are listed with their volume.
  const snapshots = unchanged(before.snapshots, after.snapshots).filter(({ volumeId }) =>
    there.has(volumeId),
  )
  const hasSnapshot = ({ id, volumeId }: VolumeSnapshot) =>
    there.get(volumeId)!.snapshots.includes(id)
  const settled = volumes.filter((volume) => isSettled(volume, now))
  const settledSnapshots = snapshots.filter((snapshot) => isSettled(snapshot, now))
  return {
    missing: settled.filter(({ id }) => !there.has(id)),
    returned: volumes.filter((volume) => wasMissing(volume) && there.has(volume.id)),
    missingSnapshots: settledSnapshots.filter((snapshot) => !hasSnapshot(snapshot)),
    returnedSnapshots: snapshots.filter((each) => wasMissing(each) && hasSnapshot(each)),
    unknown: listed.filter(({ id }) => !known.has(id)),
    unknownSnapshots: listed.flatMap(({ id, snapshots: of }) =>
      of
        .filter((snapshotId) => !knownSnapshots.has(snapshotId))
        .map((snapshotId) => ({
          volumeId: id as VolumeId,
          snapshotId: snapshotId as VolumeSnapshotId,
        })),
    ),
  }
}

type Row = Pick<Volume, 'version' | 'sagaId' | 'updatedAt' | 'fault'> & {
  readonly id: string
  readonly state: string
}

function unchanged<R extends Row>(before: readonly R[], after: readonly R[]): readonly R[] {
  const versions = new Map(before.map(({ id, version }) => [id, version]))
  return after.filter(({ id, version, sagaId }) => sagaId === null && versions.get(id) === version)
}

function isSettled({ state, updatedAt }: Row, now: number): boolean {
  return state === 'available' && now - updatedAt > SETTLED_MS
}

function wasMissing({ state, fault }: Row): boolean {
  return state === 'error' && fault === MISSING
}
