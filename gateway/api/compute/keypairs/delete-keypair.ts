import type { operations } from '#openapi/compute.gen.ts'
import { deleteKeypair as remove } from '../../../app/keypairs/delete-keypair.ts'
import type { Handler } from '../../../http/operation.ts'

export const deleteKeypair: Handler<operations['deleteKeypair']> = async (call) => {
  const { app, context, params, query } = call
  await remove(app.db, context, params.keypair_name, query.user_id)
  return {}
}
