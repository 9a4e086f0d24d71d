import type { operations } from '#openapi/federation.gen.ts'
import { operationPage } from '../../../app/operations/operations.ts'
import type { Handler } from '../../../http/operation.ts'
import { operationView } from '../../../views/federation/operation.ts'

const LIMIT = 100

/** GET /v1/operations */
export const listOperations: Handler<operations['listOperations']> = async ({ app, query }) => {
  const { state, limit = LIMIT, cursor } = query
  const page = await operationPage(app.db, { state, limit, cursor })
  const shown = page.operations.map((operation) => operationView(operation, app.compute.cells))
  return { body: { operations: shown, next: page.next } }
}
