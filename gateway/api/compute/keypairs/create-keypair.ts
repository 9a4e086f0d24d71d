import type { operations } from '#openapi/compute.gen.ts'
import { createKeypair as create } from '../../../app/keypairs/create-keypair.ts'
import type { Handler } from '../../../http/operation.ts'
import { createdKeypairView } from '../../../views/keypair.ts'

export const createKeypair: Handler<operations['createKeypair']> = async (call) => {
  const { app, context, body } = call
  const { name, type = 'ssh', public_key, user_id } = body.keypair
  const asked = { name, type, publicKey: public_key, userId: user_id }
  const keypair = await create(app.db, context, asked)
  return { body: { keypair: createdKeypairView(keypair) } }
}
