import type { operations } from '#openapi/volume.gen.ts'
import {
  acceptTransfer,
  createTransfer,
  deleteTransfer,
  listTransfers,
  showTransfer,
  transferQuery,
} from '../../app/volumes/transfers.ts'
import type { Call, Handler } from '../../http/operation.ts'
import { nextPage, pageLimit } from '../../http/pagination.ts'
import { isSince } from '../../views/since.ts'
import { transferSummary, transferView } from '../../views/volume/transfer.ts'

type List = operations['listTransfers']
type ListDetail = operations['listTransfersDetail']

async function pageOf(call: Call<List> | Call<ListDetail>) {
  const { app, context, query, links, raw } = call
  const limit = pageLimit(query.limit)
  const page = await listTransfers(app.compute, context, transferQuery(query, limit))
  const next = nextPage(links, raw, { size: page.length, limit, last: page.at(-1)?.id })
  return { page, transfers_links: next && [next] }
}

const list: Handler<List> = async (call) => {
  const { page, ...rest } = await pageOf(call)
  return { body: { transfers: page.map((each) => transferSummary(each, call.links)), ...rest } }
}

const listDetail: Handler<ListDetail> = async (call) => {
  const { page, ...rest } = await pageOf(call)
  return { body: { transfers: page.map((each) => transferView(each, call.links)), ...rest } }
}

const create: Handler<operations['createTransfer']> = async ({ app, context, body, links }) => {
  const { volume_id: volumeId, name = null, no_snapshots = false } = body.transfer
  const mayBeEncrypted = isSince(context, '3.70')
  const request = { volumeId, name, takesSnapshots: !no_snapshots, mayBeEncrypted }
  const transfer = await createTransfer(app.compute, context, request)
  return { body: { transfer: { ...transferView(transfer, links), auth_key: transfer.authKey } } }
}

const show: Handler<operations['showTransfer']> = async ({ app, context, params, links }) => {
  const transfer = await showTransfer(app.compute, context, params.transfer_id)
  return { body: { transfer: transferView(transfer, links) } }
}

const remove: Handler<operations['deleteTransfer']> = async ({ app, context, params }) => {
  await deleteTransfer(app.compute, context, params.transfer_id)
  return {}
}

const accept: Handler<operations['acceptTransfer']> = async (call) => {
  const { app, context, params, body, links } = call
  const { auth_key } = body.accept
  const accepted = await acceptTransfer(app.compute, context, params.transfer_id, String(auth_key))
  return { body: { transfer: transferSummary(accepted, links) } }
}

/** What openapi/volume/transfers.yaml describes: each at the path of now and at that from before 3.55. */
export const transferHandlers = {
  acceptTransfer: accept,
  acceptOsVolumeTransfer: accept,
  createTransfer: create,
  createOsVolumeTransfer: create,
  deleteTransfer: remove,
  deleteOsVolumeTransfer: remove,
  listTransfers: list,
  listOsVolumeTransfers: list,
  listTransfersDetail: listDetail,
  listOsVolumeTransfersDetail: listDetail,
  showTransfer: show,
  showOsVolumeTransfer: show,
}
