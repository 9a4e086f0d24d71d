import type { operations } from '#openapi/compute.gen.ts'
import { createVolume } from '../../app/volumes/create-volume.ts'
import { typeNames } from '../../app/volumes/types.ts'
import type { ShownVolume } from '../../app/volumes/volume.ts'
import { deleteVolume } from '../../app/volumes/volume-actions.ts'
import { volumeQuery } from '../../app/volumes/volume-list.ts'
import { attachmentsByVolume, listVolumes, showVolume } from '../../app/volumes/volumes.ts'
import type { VolumeAttachment } from '../../db/volume-attachments.ts'
import type { Call, Handler } from '../../http/operation.ts'
import { PAGE_LIMIT_MAX, pageLimit } from '../../http/pagination.ts'
import { plainTime } from '../../views/time.ts'

/** GET /os-volumes and /os-volumes/detail, which show the same in Nova. */
const listProxiedVolumes: Handler<operations['listProxiedVolumes']> = async (call) => {
  const { app, context, query } = call
  const { offset = 0 } = query
  const all = await listVolumes(
    app.compute,
    context,
    volumeQuery(app.compute, context, {}, PAGE_LIMIT_MAX),
  )
  const page = all.slice(offset, offset + pageLimit(query.limit))
  return { body: { volumes: await viewsOf(call, page) } }
}

/** POST /os-volumes */
const createProxiedVolume: Handler<operations['createProxiedVolume']> = async (call) => {
  const { app, context, body } = call
  const asked = body.volume
  const request = {
    name: asked.display_name ?? null,
    description: asked.display_description ?? null,
    metadata: asked.metadata ?? {},
    zone: asked.availability_zone ?? null,
    sizeGb: asked.size,
    type: asked.volume_type ?? null,
    source: asked.snapshot_id == null ? null : { kind: 'snapshot' as const, id: asked.snapshot_id },
  }
  return oneVolume(call, await createVolume(app, context, request, null))
}

/** GET /os-volumes/{volume_id} */
const showProxiedVolume: Handler<operations['showProxiedVolume']> = async (call) =>
  oneVolume(call, await showVolume(call.app.compute, call.context, call.params.volume_id))

/** DELETE /os-volumes/{volume_id} */
const deleteProxiedVolume: Handler<operations['deleteProxiedVolume']> = async (call) => {
  const { app, context, params } = call
  const how = { isForced: false, withSnapshots: false }
  await deleteVolume(app.compute, context, params.volume_id, how)
  return {}
}

async function oneVolume(call: Pick<Call, 'app'>, volume: ShownVolume) {
  const [view] = await viewsOf(call, [volume])
  return { body: { volume: view! } }
}

async function viewsOf({ app }: Pick<Call, 'app'>, volumes: readonly ShownVolume[]) {
  const types = volumes.flatMap(({ typeId }) => typeId ?? [])
  const [names, attachments] = await Promise.all([
    typeNames(app.db, types),
    attachmentsByVolume(app.compute, volumes),
  ])
  return volumes.map((volume) => proxiedView(volume, names, attachments.get(volume.id) ?? []))
}

/** As nova/api/openstack/compute/volumes.py shows a volume: one that is not attached has an empty attachment. */
function proxiedView(
  volume: ShownVolume,
  typeNamesById: ReadonlyMap<string, string>,
  attachments: readonly VolumeAttachment[],
) {
  const { id, typeId } = volume
  const shown = attachments.map(({ serverId, device }) => ({ id, volumeId: id, serverId, device }))
  return {
    id,
    status: volume.status,
    size: volume.sizeGb,
    availabilityZone: volume.zone,
    createdAt: plainTime(volume.createdAt),
    attachments: shown.length > 0 ? shown : [{}],
    displayName: volume.name,
    displayDescription: volume.description,
    volumeType: typeId === null ? null : (typeNamesById.get(typeId) ?? null),
    snapshotId: volume.source?.kind === 'snapshot' ? volume.source.snapshotId : null,
    metadata: volume.metadata,
  }
}

/** Until 2.35 Compute serves volumes by passing requests on to the Block Storage API. */
export const volumeProxyHandlers = {
  createProxiedVolume,
  deleteProxiedVolume,
  listProxiedVolumes,
  listProxiedVolumesDetail: listProxiedVolumes,
  showProxiedVolume,
}
