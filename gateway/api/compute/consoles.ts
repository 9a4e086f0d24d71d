import { Failure } from '#common/errors.ts'
import type { operations } from '#openapi/compute.gen.ts'
import type { ConsolePlace } from '../../app/consoles/console-session.ts'
import { type CreatedConsole, createConsole } from '../../app/consoles/create-console.ts'
import { showConsole } from '../../app/consoles/show-console.ts'
import type { Links } from '../../http/links.ts'
import type { Handler } from '../../http/operation.ts'
import { isSince } from '../../views/since.ts'

const createRemoteConsole: Handler<operations['createRemoteConsole']> = async (call) => {
  const { app, context, params, body, links } = call
  const { protocol, type } = body.remote_console
  const created = await createConsole(app.consoles, context, params.server_id, { protocol, type })
  return { body: { remote_console: { protocol, type, url: consoleUrl(created, links) } } }
}

const showConsoleToken: Handler<operations['showConsoleToken']> = async (call) => {
  const { app, context, params, links } = call
  const place = await showConsole(app.consoles, params.console_token)
  // Before 2.31 Nova tells of RDP consoles only, which there are none of.
  if (!isSince(context, '2.31'))
    throw new Failure('unauthenticated', 'The requested console type details are not accessible')
  return { body: { console: consoleTokenView(place, links) } }
}

/** What the actions of before 2.6 ask for, each under a key of its own. */
type Body = Readonly<Record<string, { readonly type: string }>>
interface Operation {
  readonly parameters: { readonly path: { readonly server_id: string } }
  readonly requestBody: { readonly content: { readonly 'application/json': Body } }
}

const consoleActionHandlers = {
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

export const consoleHandlers = {
  createRemoteConsole,
  showConsoleToken,
  ...consoleActionHandlers,
}

/** Token and name stand behind `#`, which a browser keeps to itself: they are in no log of a proxy or server. */
function consoleUrl({ kind, serverName, token }: CreatedConsole, links: Links): string {
  const query = new URLSearchParams({ token, server: serverName })
  return `${links.to(`/console/${kind}`)}#${query.toString()}`
}

/** Where the bytes are had: at the gateway, which alone reaches the host. */
function consoleTokenView({ serverId }: ConsolePlace, links: Links) {
  const { hostname, port, protocol } = new URL(links.root)
  const usual = protocol === 'https:' ? 443 : 80
  return {
    instance_uuid: serverId,
    host: hostname,
    port: port === '' ? usual : Number(port),
    internal_access_path: null,
  }
}
