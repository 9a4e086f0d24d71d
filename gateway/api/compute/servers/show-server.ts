import type { operations } from '#openapi/compute.gen.ts'
import { showServer as show } from '../../../app/servers/show-server.ts'
import type { Handler } from '../../../http/operation.ts'
import { staleHeaders } from '../../../views/stale.ts'
import { oneServer } from './one-server.ts'

export const showServer: Handler<operations['showServer']> = async (call) => {
  const { app, context, params } = call
  const server = await show(app.db, context, params.server_id)
  return {
    body: { server: await oneServer(call, server) },
    ...staleHeaders([server], app.compute.cells, context),
  }
}
