import type { operations } from '#openapi/federation.gen.ts'
import { traceOfServer } from '../../../app/federation/trace.ts'
import type { Handler } from '../../../http/operation.ts'
import { traceView } from '../../../views/federation/trace.ts'

/** GET /v1/servers/{server}/trace */
export const showTrace: Handler<operations['showTrace']> = async ({ app, context, params }) => {
  const traced = await traceOfServer(app.compute, context, params.server)
  return { body: traceView(traced, app.compute.cells) }
}
