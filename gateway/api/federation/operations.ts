import type { operations } from '#openapi/federation.gen.ts'
import { drainProgress } from '../../app/operations/drain-progress.ts'
import {
  awaitOperation,
  cancelOperation as cancel,
  continueOperation as goOn,
  operationPage,
  serversLeft,
} from '../../app/operations/operations.ts'
import type { Handler } from '../../http/operation.ts'
import { operationView, progressView } from '../../views/federation/operation.ts'

/** POST /v1/operations/{operation}/cancel */
export const cancelOperation: Handler<operations['cancelOperation']> = async (call) => {
  const { app, context, params } = call
  const ended = await cancel(app.compute, context, params.operation)
  return { body: operationView(ended, app.compute.cells) }
}

/** POST /v1/operations/{operation}/continue */
export const continueOperation: Handler<operations['continueOperation']> = async ({
  app,
  params,
  context,
}) => {
  const going = await goOn(app.compute, params.operation, context)
  return { body: operationView(going, app.compute.cells) }
}

const LIMIT = 100

/** GET /v1/operations */
export const listOperations: Handler<operations['listOperations']> = async ({ app, query }) => {
  const { state, limit = LIMIT, cursor } = query
  const page = await operationPage(app.db, { state, limit, cursor })
  const shown = page.operations.map((operation) => operationView(operation, app.compute.cells))
  return { body: { operations: shown, next: page.next } }
}

/** GET /v1/operations/{operation} */
export const showOperation: Handler<operations['showOperation']> = async (call) => {
  const { app, context, params, query, raw } = call
  const { wait = 0 } = query
  const operation = await awaitOperation(app.compute, context, params.operation, wait, raw.signal())
  const servers = await serversLeft(app.db, operation)
  const progress = await drainProgress(app.db, operation, new Date(app.compute.clock.now()))
  const shown = progress === undefined ? {} : progressView(progress)
  return { body: { ...operationView(operation, app.compute.cells), servers, ...shown } }
}
