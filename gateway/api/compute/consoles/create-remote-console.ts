import type { operations } from '#openapi/compute.gen.ts'
import { createConsole } from '../../../app/consoles/create-console.ts'
import type { Handler } from '../../../http/operation.ts'
import { consoleUrl } from '../../../views/console.ts'

export const createRemoteConsole: Handler<operations['createRemoteConsole']> = async (call) => {
  const { app, context, params, body, links } = call
  const { protocol, type } = body.remote_console
  const created = await createConsole(app.consoles, context, params.server_id, { protocol, type })
  return { body: { remote_console: { protocol, type, url: consoleUrl(created, links) } } }
}
