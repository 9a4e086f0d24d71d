import { Failure } from '#common/errors.ts'
import type { operations } from '#openapi/volume.gen.ts'
import { idempotencyKey } from '../../app/idempotency-key.ts'
import { enforce } from '../../app/policy.ts'
import { createVolume } from '../../app/volumes/create-volume.ts'
import { metadataWith, metadataWithout, metadatum, onlyPair } from '../../app/volumes/metadata.ts'
import { migrateVolume } from '../../app/volumes/migrate-volume.ts'
import { reimageVolume } from '../../app/volumes/reimage-volume.ts'
import { retypeVolume } from '../../app/volumes/retype-volume.ts'
import { revertVolume } from '../../app/volumes/revert-volume.ts'
import type { StoreHints } from '../../app/volumes/store-hints.ts'
import { updateReadOnly } from '../../app/volumes/update-read-only.ts'
import { uploadVolume } from '../../app/volumes/upload-volume.ts'
import type { Volume } from '../../app/volumes/volume.ts'
import { deleteVolume, extendVolume, resetVolumeStatus } from '../../app/volumes/volume-actions.ts'
import { volumeQuery } from '../../app/volumes/volume-list.ts'
import type { WantedSource } from '../../app/volumes/volume-source.ts'
import {
  changeVolume,
  listVolumes,
  showVolume,
  sumVolumes,
  volumeMetadata,
} from '../../app/volumes/volumes.ts'
import type { Answer, Call, Handler } from '../../http/operation.ts'
import { nextPage, pageLimit } from '../../http/pagination.ts'
import { listOf } from '../../http/write-list.ts'
import { isSince } from '../../views/since.ts'
import { volumeSummarizer, volumeUploadView, volumeViewer } from '../../views/volume/volume.ts'
import { viewParts } from './view-parts.ts'

type CreateBody = Call<operations['createVolume']>['body']
type NewVolumeBody = CreateBody['volume']
type HintsBody = NonNullable<CreateBody['OS-SCH-HNT:scheduler_hints']>
type List = operations['listVolumes']
type ListDetail = operations['listVolumesDetail']

async function pageOf(call: Call<List> | Call<ListDetail>) {
  const { app, context, query, links, raw } = call
  const limit = pageLimit(query.limit)
  const asked = volumeQuery(app.compute, context, query, limit)
  const page = await listVolumes(app.compute, context, asked)
  const next = nextPage(links, raw, { size: page.length, limit, last: page.at(-1)?.id })
  const count =
    query.with_count === true ? await sumVolumes(app.compute, context, asked) : undefined
  return { page, volumes_links: next && [next], count: count?.volumes }
}

const list: Handler<List> = async (call) => {
  const { page, ...rest } = await pageOf(call)
  return { body: { volumes: page.map(volumeSummarizer(call.links)), ...rest } }
}

const listDetail: Handler<ListDetail> = async (call) => {
  const { page, ...rest } = await pageOf(call)
  const view = volumeViewer(call.context, await viewParts(call, page))
  return { body: { volumes: [], ...rest }, list: listOf('volumes', page, view) }
}

const summary: Handler<operations['showVolumeSummary']> = async ({ app, context, query }) => {
  const allTenants = query.all_tenants === true
  const sums = await sumVolumes(app.compute, context, { allTenants, filters: [] })
  const metadata = await volumeMetadata(app.compute, context, allTenants)
  return {
    body: { 'volume-summary': { total_count: sums.volumes, total_size: sums.sizeGb, metadata } },
  }
}

const create: Handler<operations['createVolume']> = async (call) => {
  const { app, context, body, raw } = call
  const { size: sizeGb = null, availability_zone: zone = null, metadata, ...asked } = body.volume
  const request = {
    name: asked.name ?? asked.display_name ?? null,
    description: asked.description ?? asked.display_description ?? null,
    metadata: metadata ?? {},
    zone,
    sizeGb,
    // Cinder takes an empty name for none.
    type: asked.volume_type || null,
    source: sourceOf(asked),
    hints: hintsOf(body['OS-SCH-HNT:scheduler_hints'] ?? {}),
  }
  const key = idempotencyKey(context, raw.header('idempotency-key'), body)
  return oneVolume(call, await createVolume(app, context, request, key))
}

function hintsOf({ same_host: same = [], different_host: different = [] }: HintsBody): StoreHints {
  return { same: [same].flat(), different: [different].flat() }
}

function sourceOf({
  source_volid: volume,
  snapshot_id: snapshot,
  imageRef: image,
}: NewVolumeBody): WantedSource | null {
  if ([volume, snapshot, image].filter((each) => each != null).length > 1)
    throw new Failure(
      'invalid',
      'Invalid input received: May specify only one of snapshot, imageRef or source volume',
    )
  if (snapshot != null) return { kind: 'snapshot', id: snapshot }
  if (volume != null) return { kind: 'volume', id: volume }
  return image == null ? null : { kind: 'image', id: image }
}

const show: Handler<operations['showVolume']> = async (call) =>
  oneVolume(call, await showVolume(call.app.compute, call.context, call.params.volume_id))

const update: Handler<operations['updateVolume']> = async (call) => {
  const { app, context, params, body } = call
  const { metadata, ...asked } = body.volume
  const name = asked.name ?? asked.display_name
  const description = asked.description ?? asked.display_description
  const changed = await changeVolume(app.compute, context, params.volume_id, () => ({
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    ...(metadata !== undefined && { metadata }),
  }))
  return oneVolume(call, changed)
}

const remove: Handler<operations['deleteVolume']> = async ({ app, context, params, query }) => {
  const isForced = query.force === true
  if (isForced) enforce(context, 'volume:force_delete')
  const withSnapshots = query.cascade === true
  await deleteVolume(app.compute, context, params.volume_id, { isForced, withSnapshots })
  return {}
}

const extend: Handler<operations['extendVolume']> = async ({ app, context, params, body }) => {
  const asked = { toGb: body['os-extend'].new_size, mayBeInUse: isSince(context, '3.42') }
  await extendVolume(app.compute, context, params.volume_id, asked)
  return {}
}

const upload: Handler<operations['uploadVolume']> = async (call) => {
  const { app, context, params, body } = call
  const asked = body['os-volume_upload_image']
  const request = {
    imageName: asked.image_name,
    diskFormat: asked.disk_format ?? 'raw',
    containerFormat: asked.container_format ?? 'bare',
    visibility: asked.visibility ?? ('private' as const),
    isProtected: asked.protected ?? false,
    mayBeInUse: asked.force ?? false,
  }
  const uploaded = await uploadVolume(app.compute, context, params.volume_id, request)
  const { typeNames } = await viewParts(call, [uploaded.volume])
  return { body: { 'os-volume_upload_image': volumeUploadView(uploaded, request, typeNames) } }
}

const retype: Handler<operations['retypeVolume']> = async ({ app, context, params, body }) => {
  const { new_type: type, migration_policy } = body['os-retype']
  const wanted = { type, policy: migration_policy ?? 'never' }
  await retypeVolume(app.compute, context, params.volume_id, wanted)
  return {}
}

const migrate: Handler<operations['migrateVolume']> = async ({ app, context, params, body }) => {
  await migrateVolume(app.compute, context, params.volume_id, body['os-migrate_volume'].host)
  return {}
}

const revert: Handler<operations['revertVolume']> = async ({ app, context, params, body }) => {
  await revertVolume(app.compute, context, params.volume_id, body.revert.snapshot_id)
  return {}
}

const reimage: Handler<operations['reimageVolume']> = async ({ app, context, params, body }) => {
  await reimageVolume(app, context, params.volume_id, body['os-reimage'].image_id)
  return {}
}

const setBootable: Handler<operations['setVolumeBootable']> = async (call) => {
  const { app, context, params, body } = call
  const isBootable = body['os-set_bootable'].bootable
  await changeVolume(app.compute, context, params.volume_id, () => ({ isBootable }))
  return {}
}

const setReadOnly: Handler<operations['updateVolumeReadOnly']> = async (call) => {
  const { app, context, params, body } = call
  const isReadOnly = body['os-update_readonly_flag'].readonly
  await updateReadOnly(app.compute, context, params.volume_id, isReadOnly)
  return {}
}

const resetStatus: Handler<operations['resetVolumeStatus']> = async (call) => {
  const { app, context, params, body } = call
  await resetVolumeStatus(app.compute, context, params.volume_id, body['os-reset_status'].status)
  return {}
}

const forceDelete: Handler<operations['forceDeleteVolume']> = async ({ app, context, params }) => {
  const how = { isForced: true, withSnapshots: false }
  await deleteVolume(app.compute, context, params.volume_id, how)
  return {}
}

/** Changes the metadata of a volume, and returns what it is then. */
async function changeMetadata(
  { app, context }: Pick<Call, 'app' | 'context'>,
  id: string,
  change: (metadata: Volume['metadata']) => Volume['metadata'],
): Promise<Volume['metadata']> {
  const edit = (volume: Volume) => ({ metadata: change(volume.metadata) })
  return (await changeVolume(app.compute, context, id, edit)).metadata
}

const listMetadata: Handler<operations['listVolumeMetadata']> = async (call) => {
  const volume = await showVolume(call.app.compute, call.context, call.params.volume_id)
  return { body: { metadata: volume.metadata } }
}

const addMetadata: Handler<operations['createVolumeMetadata']> = async (call) => {
  const { params, body } = call
  const add = (now: Volume['metadata']) => metadataWith(now, body.metadata)
  return { body: { metadata: await changeMetadata(call, params.volume_id, add) } }
}

const replaceMetadata: Handler<operations['replaceVolumeMetadata']> = async (call) => {
  const { params, body } = call
  return { body: { metadata: await changeMetadata(call, params.volume_id, () => body.metadata) } }
}

const showMetadatum: Handler<operations['showVolumeMetadatum']> = async (call) => {
  const { volume_id, key } = call.params
  const volume = await showVolume(call.app.compute, call.context, volume_id)
  return { body: { meta: metadatum(volume.metadata, key) } }
}

const setMetadatum: Handler<operations['updateVolumeMetadatum']> = async (call) => {
  const { params, body } = call
  const pair = onlyPair(body.meta, params.key)
  await changeMetadata(call, params.volume_id, (now) => metadataWith(now, pair))
  return { body: { meta: pair } }
}

const removeMetadatum: Handler<operations['deleteVolumeMetadatum']> = async (call) => {
  const { volume_id, key } = call.params
  await changeMetadata(call, volume_id, (now) => metadataWithout(now, key))
  return {}
}

async function oneVolume(
  call: Pick<Call, 'app' | 'context' | 'links'>,
  volume: Volume,
): Promise<Answer<operations['showVolume']>> {
  const view = volumeViewer(call.context, await viewParts(call, [volume]))
  return { body: { volume: view(volume) } }
}

/** What openapi/volume/volumes.yaml describes. */
export const volumeResourceHandlers = {
  listVolumes: list,
  listVolumesDetail: listDetail,
  showVolumeSummary: summary,
  createVolume: create,
  showVolume: show,
  updateVolume: update,
  deleteVolume: remove,
  extendVolume: extend,
  retypeVolume: retype,
  migrateVolume: migrate,
  revertVolume: revert,
  reimageVolume: reimage,
  uploadVolume: upload,
  setVolumeBootable: setBootable,
  updateVolumeReadOnly: setReadOnly,
  resetVolumeStatus: resetStatus,
  forceDeleteVolume: forceDelete,
  listVolumeMetadata: listMetadata,
  createVolumeMetadata: addMetadata,
  replaceVolumeMetadata: replaceMetadata,
  showVolumeMetadatum: showMetadatum,
  updateVolumeMetadatum: setMetadatum,
  deleteVolumeMetadatum: removeMetadatum,
}
