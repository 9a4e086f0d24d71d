import { Failure } from '#common/errors.ts'
import type { operations } from '#openapi/compute.gen.ts'
import { refuseNoShare, refuseShare } from '../../../app/servers/refuse-share.ts'
import { showServer } from '../../../app/servers/show-server.ts'
import type { Handler } from '../../../http/operation.ts'

/** GET /servers/{server_id}/shares */
export const listServerShares: Handler<operations['listServerShares']> = async (call) => {
  await showServer(call.app.db, call.context, call.params.server_id)
  return { body: { shares: [] } }
}

/** POST /servers/{server_id}/shares */
export const attachServerShare: Handler<operations['attachServerShare']> = async (call) => {
  const server = await showServer(call.app.db, call.context, call.params.server_id)
  return refuseShare(server)
}

/** GET /servers/{server_id}/shares/{share_id} */
export const showServerShare: Handler<operations['showServerShare']> = async (call) => {
  const { server_id, share_id } = call.params
  await showServer(call.app.db, call.context, server_id)
  throw new Failure('not-found', `Share ${share_id} could not be found.`)
}

/** DELETE /servers/{server_id}/shares/{share_id} */
export const detachServerShare: Handler<operations['detachServerShare']> = async (call) => {
  const { server_id, share_id } = call.params
  const server = await showServer(call.app.db, call.context, server_id)
  return refuseNoShare(server, share_id)
}
