import { once } from 'node:events'
import type { Duplex } from 'node:stream'
import { Type } from 'typebox'
import { createWebSocketStream, WebSocket } from 'ws'
import { Failure, isFailure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import { Nullable } from '#openapi/wire/scalars.ts'
import type { Console, ConsoleKind, ConsoleKinds, ConsoleLog } from '../consoles.ts'
import { checkCloudUrl, checkedLookup } from './cloud/check-address.ts'
import { type ConsoleAddress, consoleAddress } from './compute/console-address.ts'
import { getServer } from './compute/find-server.ts'
import type { NestedHost } from './host.ts'
import type { NestedSettings } from './settings.ts'

const PROTOCOLS: Readonly<Record<ConsoleKind, object>> = {
  serial: { protocol: 'serial', type: 'serial' },
  vnc: { protocol: 'vnc', type: 'novnc' },
}
const RemoteConsole = Type.Object({ remote_console: Type.Object({ url: Type.String() }) })
const REMOTE_CONSOLES_SINCE = '2.6'

/** The consoles that the cloud offers, opened as their pages do. */
export function nestedConsole(host: NestedHost): Console {
  return {
    async open(id, kind, signal) {
      const address = consoleAddress(await consoleUrl(host, id, kind, signal))
      if (address === undefined)
        throw new Failure('unsupported', 'The nested cloud has consoles of another kind.')
      return dial(address, host.settings, signal)
    },
  }
}

/** The cloud refuses at once a console that it does not have. Its token is let expire. */
export function nestedConsoleKinds(host: NestedHost): ConsoleKinds {
  return {
    async has(id, kind, signal) {
      try {
        await consoleUrl(host, id, kind, signal)
        return true
      } catch (error) {
        if (isFailure(error, 'invalid', 'unsupported')) return false
        throw error
      }
    },
  }
}

async function consoleUrl(
  host: NestedHost,
  id: InstanceId,
  kind: ConsoleKind,
  signal: AbortSignal,
): Promise<string> {
  const server = await getServer(host, id, signal)
  if (server.status === 'SHUTOFF') throw new Failure('conflict', `Instance ${id} is not running.`)
  const microversion = await host.versions.need(REMOTE_CONSOLES_SINCE, 'a console', signal)
  const { body } = await host.cloud.ask(
    RemoteConsole,
    'compute',
    'POST',
    `/servers/${server.id}/remote-consoles`,
    { body: { remote_console: PROTOCOLS[kind] }, microversion, signal },
  )
  return body.remote_console.url
}

/** The cloud chose the address, so it is checked as those of its catalog are. */
async function dial(
  { url, protocols }: ConsoleAddress,
  settings: NestedSettings,
  signal: AbortSignal,
): Promise<Duplex> {
  checkCloudUrl('The address of a console', url.replace(/^ws/, 'http'), settings)
  const socket = new WebSocket(url, [...protocols], {
    lookup: checkedLookup(settings),
    handshakeTimeout: settings.requestTimeoutMs,
    perMessageDeflate: false,
  })
  try {
    await once(socket, 'open', { signal })
  } catch (cause) {
    socket.on('error', () => undefined).terminate()
    signal.throwIfAborted()
    throw new Failure('unavailable', 'The console of the nested cloud does not answer.', { cause })
  }
  return createWebSocketStream(socket)
}

const Output = Type.Object({ output: Nullable(Type.String()) })

export function nestedConsoleLog(host: NestedHost): ConsoleLog {
  return {
    async read(id, maxBytes, signal) {
      const server = await getServer(host, id, signal)
      const { body } = await host.cloud.ask(
        Output,
        'compute',
        'POST',
        `/servers/${server.id}/action`,
        { body: { 'os-getConsoleOutput': {} }, signal },
      )
      return Buffer.from(body.output ?? '').subarray(-maxBytes)
    },
  }
}
