import type { operations } from '#openapi/compute.gen.ts'
import { createSnapshot } from '../../app/volume-snapshots/create-snapshot.ts'
import { deleteSnapshot } from '../../app/volume-snapshots/snapshot-actions.ts'
import { listSnapshots, showSnapshot, snapshotQuery } from '../../app/volume-snapshots/snapshots.ts'
import type { VolumeSnapshot } from '../../app/volume-snapshots/volume-snapshot.ts'
import type { Handler } from '../../http/operation.ts'
import { PAGE_LIMIT_MAX, pageLimit } from '../../http/pagination.ts'
import { plainTime } from '../../views/time.ts'

/** GET /os-snapshots and /os-snapshots/detail, which show the same in Nova. */
const listProxiedSnapshots: Handler<operations['listProxiedSnapshots']> = async (call) => {
  const { app, context, query } = call
  const { offset = 0 } = query
  const all = await listSnapshots(app.compute, context, snapshotQuery({}, PAGE_LIMIT_MAX))
  const page = all.slice(offset, offset + pageLimit(query.limit))
  return { body: { snapshots: page.map(proxiedView) } }
}

/** POST /os-snapshots */
const createProxiedSnapshot: Handler<operations['createProxiedSnapshot']> = async (call) => {
  const { app, context, body } = call
  const asked = body.snapshot
  const request = {
    volumeId: asked.volume_id,
    name: asked.display_name ?? null,
    description: asked.display_description ?? null,
    metadata: {},
    mayBeInUse: asked.force === true,
  }
  return {
    body: { snapshot: proxiedView(await createSnapshot(app.compute, context, request, null)) },
  }
}

/** GET /os-snapshots/{snapshot_id} */
const showProxiedSnapshot: Handler<operations['showProxiedSnapshot']> = async (call) => {
  const { app, context, params } = call
  return {
    body: { snapshot: proxiedView(await showSnapshot(app.compute, context, params.snapshot_id)) },
  }
}

/** DELETE /os-snapshots/{snapshot_id} */
const deleteProxiedSnapshot: Handler<operations['deleteProxiedSnapshot']> = async (call) => {
  const { app, context, params } = call
  await deleteSnapshot(app.compute, context, params.snapshot_id, { isForced: false })
  return {}
}

/** As nova/api/openstack/compute/volumes.py shows a snapshot. */
function proxiedView(snapshot: VolumeSnapshot) {
  const { id, volumeId, status, sizeGb, createdAt, name, description } = snapshot
  return {
    id,
    volumeId,
    status,
    size: sizeGb,
    createdAt: plainTime(createdAt),
    displayName: name,
    displayDescription: description,
  }
}

/** The proxies for snapshots of volumes, which clients from before microversion 2.36 still call. */
export const snapshotProxyHandlers = {
  createProxiedSnapshot,
  deleteProxiedSnapshot,
  listProxiedSnapshots,
  listProxiedSnapshotsDetail: listProxiedSnapshots,
  showProxiedSnapshot,
}
