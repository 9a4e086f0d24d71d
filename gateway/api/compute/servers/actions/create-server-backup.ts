import type { operations } from '#openapi/compute.gen.ts'
import { backUpServer } from '../../../../app/servers/save-server.ts'
import type { Handler } from '../../../../http/operation.ts'
import { isSince } from '../../../../views/since.ts'
import { savedImage } from './saved-image.ts'

export const createServerBackup: Handler<operations['createServerBackup']> = async (call) => {
  const { app, context, params, body } = call
  const { name, backup_type: type, metadata = {} } = body.createBackup
  const rotation = Number(body.createBackup.rotation)
  const request = { name, metadata, type, rotation }
  const id = await backUpServer(app.compute, context, params.server_id, request)
  // Nova names the image in a body even where none is kept, but leads to no such one.
  return rotation === 0 && !isSince(context, '2.45') ? {} : savedImage(call, id)
}
