import type { operations } from '#openapi/federation.gen.ts'
import { continueOperation as goOn } from '../../../app/operations/operations.ts'
import type { Handler } from '../../../http/operation.ts'
import { operationView } from '../../../views/federation/operation.ts'

/** POST /v1/operations/{operation}/continue */
export const continueOperation: Handler<operations['continueOperation']> = async ({
  app,
  params,
  context,
}) => {
  const going = await goOn(app.compute, params.operation, context)
  return { body: operationView(going, app.compute.cells) }
}
