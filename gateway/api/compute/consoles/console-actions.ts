import { createConsole } from '../../../app/consoles/create-console.ts'
import type { Handler } from '../../../http/operation.ts'
import { consoleUrl } from '../../../views/console.ts'

/** What the actions of before 2.6 ask for, each under a key of its own. */
type Body = Readonly<Record<string, { readonly type: string }>>
interface Operation {
  readonly parameters: { readonly path: { readonly server_id: string } }
  readonly requestBody: { readonly content: { readonly 'application/json': Body } }
}

export const consoleActionHandlers = {
  showVncConsole: show('vnc'),
  showSerialConsole: show('serial'),
  showSpiceConsole: show('spice'),
  showRdpConsole: show('rdp'),
}

function show(protocol: string): Handler<Operation> {
  return async ({ app, context, params, body, links }) => {
    const [{ type } = { type: '' }] = Object.values(body)
    const created = await createConsole(app.consoles, context, params.server_id, { protocol, type })
    return { body: { console: { type, url: consoleUrl(created, links) } } }
  }
}
