import type { operations } from '#openapi/compute.gen.ts'
import { showKeypair as show } from '../../../app/keypairs/show-keypair.ts'
import type { Handler } from '../../../http/operation.ts'
import { keypairView } from '../../../views/keypair.ts'

export const showKeypair: Handler<operations['showKeypair']> = async (call) => {
  const { app, context, params, query } = call
  const keypair = await show(app.db, context, params.keypair_name, query.user_id)
  return { body: { keypair: keypairView(keypair) } }
}
