import type { operations } from '#openapi/compute.gen.ts'
import { showServer } from '../../../app/servers/show-server.ts'
import type { Handler } from '../../../http/operation.ts'

/** A guest tells its password to a metadata service. Without one there is nobody to tell, so none is ever known. */
export const showServerPassword: Handler<operations['showServerPassword']> = async (call) => {
  await showServer(call.app.db, call.context, call.params.server_id)
  return { body: { password: '' } }
}
