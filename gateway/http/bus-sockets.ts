import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import { type Duplex, finished } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createWebSocketStream, type WebSocket, WebSocketServer } from 'ws'
import { Failure } from '#common/errors.ts'
import { errorFields } from '#common/log.ts'
import { BUS_LEAF_PATH } from '#openapi/wire.ts'
import { admitPeer, type BusPeer } from '../app/federation/admit-peer.ts'
import type { Gateway } from '../context.ts'
import { BusDialer } from './bus-dialer.ts'
import { BusSlots } from './bus-slots.ts'
import { type FirstLine, firstLine } from './first-line.ts'
import { trustedProxies } from './trusted-proxies.ts'

/** Where hosts elsewhere reach the bus, as its clients. */
export const BUS_PATH = '/bus'

/** A bus message is 4 MiB at most, and senders put several into a frame only while they are small. */
const FRAME_BYTES_MAX = 8 * 2 ** 20
/** For all that comes before the bus hears the peer: NATS itself waits two seconds for it, and then logs a line. */
const ADMIT_LIMIT_MS = 1_800
const GOING_AWAY = 1001
/** As NATS says it, so that its clients understand. */
const NOT_ADMITTED = "-ERR 'Authorization Violation'\r\n"

/** True for a request that `serveBusSockets` answers. */
export function isBusPath(url: string | undefined): boolean {
  return url === BUS_PATH || url === BUS_LEAF_PATH
}

/**
 * Carries the bus to cells and hosts elsewhere over WebSockets on an HTTP server until disposed, which closes them.
 * The bus itself listens on loopback alone, and receives no byte from a peer without a valid credential: its server
 * parses messages before it authenticates their sender, and has had vulnerabilities there.
 */
export function serveBusSockets(
  server: Server,
  gateway: Gateway,
  slots = new BusSlots(),
): AsyncDisposable {
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: FRAME_BYTES_MAX,
    perMessageDeflate: false,
  })
  const dialerOf = dialersOf(gateway)
  const isTrustedProxy = trustedProxies(gateway.config.trustedProxies)
  const open = new Set<Promise<void>>()
  let isEnding = false
  const upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (!isBusPath(request.url)) return
    socket.on('error', () => {})
    const dialer = dialerOf(request.url)
    // Behind a proxy everybody has its address.
    const { remoteAddress } = request.socket
    const address = isTrustedProxy(remoteAddress) ? undefined : remoteAddress
    if (isEnding) return refuse(socket, '503 Service Unavailable')
    if (dialer === undefined) return refuse(socket, '404 Not Found')
    const slot = slots.take(address)
    if (slot === undefined) return refuse(socket, '503 Service Unavailable')
    const ended = new Promise<void>((resolve) => finished(socket, () => resolve()))
    void ended.then(() => slot[Symbol.dispose]())
    sockets.handleUpgrade(request, socket, head, (accepted) => {
      const carried = carry(gateway, accepted, dialer, (peer) => slot.admit(peer.publicKey))
      open.add(carried)
      void carried.finally(() => open.delete(carried))
    })
  }
  server.on('upgrade', upgrade)
  return {
    async [Symbol.asyncDispose]() {
      // Peers dial again at once, and would have no answer as long as the server listens.
      isEnding = true
      for (const socket of sockets.clients) {
        socket.close(GOING_AWAY)
        socket.terminate()
      }
      sockets.close()
      await Promise.all(open)
    },
  }
}

/** For a path, what connects to the bus; undefined where it takes no leaf nodes. */
function dialersOf({ config }: Gateway): (path: string | undefined) => BusDialer | undefined {
  const { natsUrl, natsLeafUrl } = config
  const clients = new BusDialer(natsUrl)
  const leafNodes = natsLeafUrl === undefined ? undefined : new BusDialer(natsLeafUrl)
  return (path) => (path === BUS_LEAF_PATH ? leafNodes : clients)
}

/** Carries bytes both ways once the peer is known, until either side ends, and then closes both. */
async function carry(
  gateway: Gateway,
  socket: WebSocket,
  dialer: BusDialer,
  admitted: (peer: BusPeer) => void,
): Promise<void> {
  const outer = createWebSocketStream(socket)
  outer.on('error', () => {})
  // By itself the stream of a connection that was cut waits for what it had yet to send.
  socket.once('close', () => outer.destroy())
  let inner: Socket | undefined
  try {
    const limit = AbortSignal.timeout(ADMIT_LIMIT_MS)
    const bus = await dialer.dial(limit)
    inner = bus.socket
    const { peer, begun } = await greet(gateway, outer, bus.info, limit)
    admitted(peer)
    inner.write(begun)
    await Promise.allSettled([pipeline(outer, inner), pipeline(inner, outer)])
  } catch (error) {
    gateway.log.debug(errorFields(error), 'bus peer not let in')
    if (!outer.destroyed) await sendLast(outer, NOT_ADMITTED)
  } finally {
    inner?.destroy()
    outer.destroy()
  }
}

/**
 * Hands the bus's greeting to the peer, and judges its answer. `begun`: what the peer has sent, of which the bus has
 * had nothing yet. Throws `unauthenticated` for a peer that is not to be let in.
 */
async function greet(
  { db }: Gateway,
  outer: Duplex,
  info: FirstLine,
  limit: AbortSignal,
): Promise<{ readonly peer: BusPeer; readonly begun: Buffer }> {
  outer.write(info.bytes)
  const { nonce } = JSON.parse(info.line.replace(/^INFO +/, '')) as { readonly nonce?: string }
  if (nonce === undefined)
    throw new Failure('internal', 'The bus did not request a proof of the key.')
  const connected = await firstLine(outer, limit)
  const peer = await admitPeer(db, connected.line, nonce, Date.now())
  return { peer, begun: connected.bytes }
}

/** Resolves once it is sent, or cannot be any more. */
async function sendLast(stream: Duplex, text: string): Promise<void> {
  const over = new Promise<void>((resolve) =>
    finished(stream, { readable: false }, () => resolve()),
  )
  stream.end(text)
  await over
}

function refuse(socket: Duplex, status: string): void {
  finished(socket, () => socket.destroy())
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
}
