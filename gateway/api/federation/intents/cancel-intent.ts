import type { operations } from '#openapi/federation.gen.ts'
import { cancelIntent as cancel } from '../../../app/intents/cancel-intent.ts'
import type { Handler } from '../../../http/operation.ts'

/** DELETE /v1/intents/{intent} */
export const cancelIntent: Handler<operations['cancelIntent']> = async (call) => {
  const { app, context, params } = call
  await cancel(app.db, context, params.intent)
  return {}
}
