import type { ConsolePlace } from '../app/consoles/console-session.ts'
import type { CreatedConsole } from '../app/consoles/create-console.ts'
import type { Links } from '../http/links.ts'

/** Token and name stand behind `#`, which a browser keeps to itself: they are in no log of a proxy or server. */
export function consoleUrl({ kind, serverName, token }: CreatedConsole, links: Links): string {
  const query = new URLSearchParams({ token, server: serverName })
  return `${links.to(`/console/${kind}`)}#${query.toString()}`
}

/** Where the bytes are had: at the gateway, which alone reaches the host. */
export function consoleTokenView({ serverId }: ConsolePlace, links: Links) {
  const { hostname, port, protocol } = new URL(links.root)
  const usual = protocol === 'https:' ? 443 : 80
  return {
    instance_uuid: serverId,
    host: hostname,
    port: port === '' ? usual : Number(port),
    internal_access_path: null,
  }
}
