import type { RequestContext } from '../../app/request-context.ts'
import type { VolumeSnapshot } from '../../app/volume-snapshots/volume-snapshot.ts'
import { plainTime } from '../time.ts'

/** What a list without details shows of a snapshot. */
export function snapshotSummary(snapshot: VolumeSnapshot) {
  const { id, name, description, createdAt, updatedAt } = snapshot
  return {
    id,
    name: name ?? '',
    description,
    volume_id: snapshot.volumeId,
    size: snapshot.sizeGb,
    status: snapshot.status,
    created_at: plainTime(createdAt),
    updated_at: updatedAt === null ? null : plainTime(updatedAt),
    metadata: snapshot.metadata,
    group_snapshot_id: null,
    user_id: snapshot.userId,
    consumes_quota: true,
  }
}

/** A snapshot with every field; those of later microversions are pruned. */
export function snapshotView(snapshot: VolumeSnapshot, { isAdmin }: RequestContext) {
  return {
    ...snapshotSummary(snapshot),
    'os-extended-snapshot-attributes:project_id': snapshot.projectId,
    'os-extended-snapshot-attributes:progress': snapshot.status === 'available' ? '100%' : '0%',
    ...(isAdmin && { 'weir:fault': snapshot.fault }),
  }
}
