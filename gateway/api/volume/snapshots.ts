import type { operations } from '#openapi/volume.gen.ts'
import { idempotencyKey } from '../../app/idempotency-key.ts'
import { createSnapshot, mayBeInUse } from '../../app/volume-snapshots/create-snapshot.ts'
import { deleteSnapshot, resetSnapshotStatus } from '../../app/volume-snapshots/snapshot-actions.ts'
import {
  changeSnapshot,
  countSnapshots,
  listSnapshots,
  showSnapshot,
  snapshotQuery,
} from '../../app/volume-snapshots/snapshots.ts'
import type { VolumeSnapshot } from '../../app/volume-snapshots/volume-snapshot.ts'
import { metadataWith, metadataWithout, metadatum, onlyPair } from '../../app/volumes/metadata.ts'
import type { Call, Handler } from '../../http/operation.ts'
import { nextPage, pageLimit } from '../../http/pagination.ts'
import { isSince } from '../../views/since.ts'
import { snapshotSummary, snapshotView } from '../../views/volume/snapshot.ts'

type List = operations['listSnapshots']
type ListDetail = operations['listSnapshotsDetail']

async function pageOf(call: Call<List> | Call<ListDetail>) {
  const { app, context, query, links, raw } = call
  const limit = pageLimit(query.limit)
  const asked = snapshotQuery(query, limit)
  const page = await listSnapshots(app.compute, context, asked)
  const next = nextPage(links, raw, { size: page.length, limit, last: page.at(-1)?.id })
  const isCounted = query.with_count === true
  const count = isCounted ? await countSnapshots(app.compute, context, asked) : undefined
  return { page, snapshots_links: next && [next], count }
}

const list: Handler<List> = async (call) => {
  const { page, ...rest } = await pageOf(call)
  return { body: { snapshots: page.map(snapshotSummary), ...rest } }
}

const listDetail: Handler<ListDetail> = async (call) => {
  const { page, ...rest } = await pageOf(call)
  return { body: { snapshots: page.map((each) => snapshotView(each, call.context)), ...rest } }
}

const create: Handler<operations['createSnapshot']> = async (call) => {
  const { app, context, body, raw } = call
  const { volume_id: volumeId, force, metadata, ...asked } = body.snapshot
  const request = {
    volumeId,
    name: asked.name ?? asked.display_name ?? null,
    description: asked.description ?? asked.display_description ?? null,
    metadata: metadata ?? {},
    mayBeInUse: mayBeInUse(force ?? null, isSince(context, '3.66')),
  }
  const key = idempotencyKey(context, raw.header('idempotency-key'), body)
  const snapshot = await createSnapshot(app.compute, context, request, key)
  return { body: { snapshot: snapshotView(snapshot, context) } }
}

const show: Handler<operations['showSnapshot']> = async ({ app, context, params }) => {
  const snapshot = await showSnapshot(app.compute, context, params.snapshot_id)
  return { body: { snapshot: snapshotView(snapshot, context) } }
}

const update: Handler<operations['updateSnapshot']> = async ({ app, context, params, body }) => {
  const asked = body.snapshot
  const name = asked.name ?? asked.display_name
  const description = asked.description ?? asked.display_description
  const changed = await changeSnapshot(app.compute, context, params.snapshot_id, () => ({
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
  }))
  return { body: { snapshot: snapshotView(changed, context) } }
}

const remove: Handler<operations['deleteSnapshot']> = async ({ app, context, params }) => {
  await deleteSnapshot(app.compute, context, params.snapshot_id, { isForced: false })
  return {}
}

const forceDelete: Handler<operations['forceDeleteSnapshot']> = async (call) => {
  const { app, context, params } = call
  await deleteSnapshot(app.compute, context, params.snapshot_id, { isForced: true })
  return {}
}

const resetStatus: Handler<operations['resetSnapshotStatus']> = async (call) => {
  const { app, context, params, body } = call
  const { status } = body['os-reset_status']
  await resetSnapshotStatus(app.compute, context, params.snapshot_id, status)
  return {}
}

/** Changes the metadata of a snapshot, and returns what it is then. */
async function changeMetadata(
  { app, context }: Pick<Call, 'app' | 'context'>,
  id: string,
  change: (metadata: VolumeSnapshot['metadata']) => VolumeSnapshot['metadata'],
): Promise<VolumeSnapshot['metadata']> {
  const edit = (snapshot: VolumeSnapshot) => ({ metadata: change(snapshot.metadata) })
  return (await changeSnapshot(app.compute, context, id, edit)).metadata
}

const listMetadata: Handler<operations['listSnapshotMetadata']> = async (call) => {
  const { metadata } = await showSnapshot(call.app.compute, call.context, call.params.snapshot_id)
  return { body: { metadata } }
}

const addMetadata: Handler<operations['createSnapshotMetadata']> = async (call) => {
  const { params, body } = call
  const add = (now: VolumeSnapshot['metadata']) => metadataWith(now, body.metadata)
  return { body: { metadata: await changeMetadata(call, params.snapshot_id, add) } }
}

const replaceMetadata: Handler<operations['replaceSnapshotMetadata']> = async (call) => {
  const { params, body } = call
  const metadata = await changeMetadata(call, params.snapshot_id, () => body.metadata)
  return { body: { metadata } }
}

const showMetadatum: Handler<operations['showSnapshotMetadatum']> = async (call) => {
  const { snapshot_id, key } = call.params
  const { metadata } = await showSnapshot(call.app.compute, call.context, snapshot_id)
  return { body: { meta: metadatum(metadata, key) } }
}

const setMetadatum: Handler<operations['updateSnapshotMetadatum']> = async (call) => {
  const { params, body } = call
  const pair = onlyPair(body.meta, params.key)
  await changeMetadata(call, params.snapshot_id, (now) => metadataWith(now, pair))
  return { body: { meta: pair } }
}

const removeMetadatum: Handler<operations['deleteSnapshotMetadatum']> = async (call) => {
  const { snapshot_id, key } = call.params
  await changeMetadata(call, snapshot_id, (now) => metadataWithout(now, key))
  return {}
}

/** What openapi/volume/snapshots.yaml describes. */
export const snapshotHandlers = {
  listSnapshots: list,
  listSnapshotsDetail: listDetail,
  createSnapshot: create,
  showSnapshot: show,
  updateSnapshot: update,
  deleteSnapshot: remove,
  forceDeleteSnapshot: forceDelete,
  resetSnapshotStatus: resetStatus,
  listSnapshotMetadata: listMetadata,
  createSnapshotMetadata: addMetadata,
  replaceSnapshotMetadata: replaceMetadata,
  showSnapshotMetadatum: showMetadatum,
  updateSnapshotMetadatum: setMetadatum,
  deleteSnapshotMetadatum: removeMetadatum,
}
