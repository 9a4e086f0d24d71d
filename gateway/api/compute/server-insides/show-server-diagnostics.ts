import type { operations } from '#openapi/compute.gen.ts'
import { serverDiagnostics } from '../../../app/servers/server-diagnostics.ts'
import type { Handler } from '../../../http/operation.ts'
import { diagnosticsView } from '../../../views/diagnostics.ts'
import { isSince } from '../../../views/since.ts'

export const showServerDiagnostics: Handler<operations['showServerDiagnostics']> = async (call) => {
  const { app, context, params } = call
  const figures = await serverDiagnostics(app.compute, context, params.server_id)
  // Until 2.47 everything is shown as the driver names it.
  return { body: isSince(context, '2.48') ? diagnosticsView(figures) : figures.own }
}
