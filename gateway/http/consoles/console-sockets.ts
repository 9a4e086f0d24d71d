import type { IncomingMessage, Server } from 'node:http'
import { type Duplex, finished } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { Failure } from '#common/errors.ts'
import { errorFields } from '#common/log.ts'
import type { ConsolePipe } from '../../app/consoles/console-pipe.ts'
import { openConsole } from '../../app/consoles/open-console.ts'
import type { Gateway } from '../../context.ts'
import type { ConsoleMetrics } from '../../metrics/console-metrics.ts'
import { isBusPath } from '../bus-sockets.ts'
import { faultOf } from '../faults.ts'
import { isEncrypted } from '../http-input.ts'
import type { LinksSource } from '../links.ts'
import { carry } from './carry.ts'

/** Where the pages of consoles find their bytes. */
const PATH = '/console/socket'
/** The token comes as an offered subprotocol, because browsers can send no header and URLs end in logs. */
const TOKEN_PROTOCOL = /^token\.([A-Za-z0-9_-]{43})$/
const PROTOCOL = 'binary'
/** No browser sends more at once but the clipboard. */
const MESSAGE_BYTES_MAX = 1_048_576
const GOING_AWAY = 1001

/** Serves WebSockets to consoles on an HTTP server until disposed, which closes them. */
export function serveConsoleSockets(
  server: Server,
  gateway: Gateway,
  linksOf: LinksSource,
  metrics: ConsoleMetrics,
): AsyncDisposable {
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: MESSAGE_BYTES_MAX,
    perMessageDeflate: false,
    handleProtocols: () => PROTOCOL,
  })
  const open = new Set<Promise<void>>()
  const begin = (socket: WebSocket, pipe: ConsolePipe) => {
    const conversation = converse(gateway, metrics, socket, pipe)
    open.add(conversation)
    void conversation.finally(() => open.delete(conversation))
  }
  const upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (isBusPath(request.url)) return
    void admit(gateway, linksOf, request, socket)
      .then((pipe) => {
        if (socket.destroyed) return pipe.close()
        return sockets.handleUpgrade(request, socket, head, (accepted) => begin(accepted, pipe))
      })
      .catch((error: unknown) => refuse(gateway, metrics, socket, error))
  }
  server.on('upgrade', upgrade)
  return {
    async [Symbol.asyncDispose]() {
      server.off('upgrade', upgrade)
      for (const socket of sockets.clients) socket.close(GOING_AWAY)
      sockets.close()
      await Promise.all(open)
    },
  }
}

/** Opens the console a request names. A refused request does not use up its token, except where the host refuses. */
async function admit(
  { consoles }: Gateway,
  linksOf: LinksSource,
  { url, headers, socket: peer }: IncomingMessage,
  socket: Duplex,
): Promise<ConsolePipe> {
  socket.on('error', () => {})
  const { root } = linksOf({
    header: (name) => headers[name] as string | undefined,
    peerAddress: peer.remoteAddress,
    isEncrypted: isEncrypted(peer),
  })
  if (url !== PATH) throw new Failure('not-found', 'There is nothing at this path.')
  // A page of another site must not ride on what this browser holds (OSSA-2015-005). Programs send no origin.
  if (headers.origin !== undefined && headers.origin !== new URL(root).origin)
    throw new Failure('forbidden', 'Consoles are opened from the pages of this gateway only.')
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim())
  const token = offered.map((name) => TOKEN_PROTOCOL.exec(name)?.[1]).find(Boolean)
  if (token === undefined || !offered.includes(PROTOCOL))
    throw new Failure('unauthenticated', 'The token of a console is required.')
  return openConsole(consoles, token)
}

async function converse(
  { log }: Gateway,
  metrics: ConsoleMetrics,
  socket: WebSocket,
  pipe: ConsolePipe,
): Promise<void> {
  metrics.opened(pipe.kind)
  try {
    await carry(socket, pipe, metrics)
  } catch (error) {
    log.error(errorFields(error), 'console broke')
  } finally {
    metrics.closed(pipe.kind)
  }
}

/** The refusal as an answer in HTTP, after which the connection ends. */
function refuse({ log }: Gateway, metrics: ConsoleMetrics, socket: Duplex, error: unknown): void {
  const { status, body, isOurs } = faultOf(error, 'nova')
  metrics.refused(status)
  if (isOurs) log.error(errorFields(error), 'console not opened')
  finished(socket, () => socket.destroy())
  socket.end(
    `HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}
