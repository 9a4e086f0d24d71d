import type { operations } from '#openapi/federation.gen.ts'
import { awaitOperation, serversLeft } from '../../../app/operations/operations.ts'
import type { Handler } from '../../../http/operation.ts'
import { operationView } from '../../../views/federation/operation.ts'

/** GET /v1/operations/{operation} */
export const showOperation: Handler<operations['showOperation']> = async (call) => {
  const { app, params, query, raw } = call
  const { wait = 0 } = query
  const operation = await awaitOperation(app.compute, params.operation, wait, raw.signal())
  const servers = await serversLeft(app.db, operation)
  return { body: { ...operationView(operation, app.compute.cells), servers } }
}
