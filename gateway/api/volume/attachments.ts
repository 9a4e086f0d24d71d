import { Failure } from '#common/errors.ts'
import type { operations } from '#openapi/volume.gen.ts'
import {
  attachmentQuery,
  listAttachments,
  showVolumeAttachment,
} from '../../app/volumes/attachment-list.ts'
import type { Call, Handler } from '../../http/operation.ts'
import { nextPage, pageLimit } from '../../http/pagination.ts'
import { attachmentSummary, attachmentView } from '../../views/volume/attachment.ts'

type List = operations['listAttachments']
type ListDetail = operations['listAttachmentsDetail']

async function pageOf(call: Call<List> | Call<ListDetail>) {
  const { app, context, query, links, raw } = call
  const limit = pageLimit(query.limit)
  const asked = attachmentQuery(query, limit)
  const page = await listAttachments(app.compute, context, asked, query.project_id)
  const next = nextPage(links, raw, { size: page.length, limit, last: page.at(-1)?.id })
  return { page, attachments_links: next && [next] }
}

const list: Handler<List> = async (call) => {
  const { page, ...rest } = await pageOf(call)
  return { body: { attachments: page.map(attachmentSummary), ...rest } }
}

const listDetail: Handler<ListDetail> = async (call) => {
  const { page, ...rest } = await pageOf(call)
  return { body: { attachments: page.map(attachmentView), ...rest } }
}

const show: Handler<operations['showAttachment']> = async ({ app, context, params }) => {
  const found = await showVolumeAttachment(app.compute, context, params.attachment_id)
  return { body: { attachment: attachmentView(found) } }
}

/** In Cinder only compute services ask for these; here stores are reached by the hosts of their cell alone. */
const byCompute: Handler = async () => {
  throw new Failure(
    'unsupported',
    'Volumes are attached to servers by the Compute API (os-volume_attachments).',
  )
}

/** What openapi/volume/attachments.yaml describes. */
export const attachmentHandlers = {
  createAttachment: byCompute,
  deleteAttachment: byCompute,
  listAttachments: list,
  listAttachmentsDetail: listDetail,
  showAttachment: show,
  updateAttachment: byCompute,
}
