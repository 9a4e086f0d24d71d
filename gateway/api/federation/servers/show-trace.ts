import type { operations } from '#openapi/federation.gen.ts'
import { traceOfServer } from '../../../app/federation/trace.ts'
import type { Handler } from '../../../http/operation.ts'
import { decisionView } from '../../../views/federation/decision.ts'

/** GET /v1/servers/{server}/trace */
export const showTrace: Handler<operations['showTrace']> = async ({ app, context, params }) => {
  const { server, decisions } = await traceOfServer(app.db, context, params.server)
  return {
    body: {
      server_id: server.id,
      cell_id: server.cellId,
      host: server.host,
      decisions: decisions.map(decisionView),
    },
  }
}
