import type { operations } from '#openapi/federation.gen.ts'
import { cancelOperation as cancel } from '../../../app/operations/operations.ts'
import type { Handler } from '../../../http/operation.ts'
import { operationView } from '../../../views/federation/operation.ts'

/** POST /v1/operations/{operation}/cancel */
export const cancelOperation: Handler<operations['cancelOperation']> = async ({ app, params }) => {
  const ended = await cancel(app.compute, params.operation)
  return { body: operationView(ended, app.compute.cells) }
}
