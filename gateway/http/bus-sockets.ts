import { once } from 'node:events'
import type { IncomingMessage, Server } from 'node:http'
import { connect } from 'node:net'
import { type Duplex, finished, type Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createWebSocketStream, type WebSocket, WebSocketServer } from 'ws'
import { Failure } from '#common/errors.ts'
import { errorFields } from '#common/log.ts'
import { admitPeer, type BusPeer } from '../app/federation/admit-peer.ts'
import type { Gateway } from '../context.ts'
import { BusSlots } from './bus-slots.ts'
import { trustedProxies } from './trusted-proxies.ts'

/** Where hosts elsewhere reach the bus, as its clients. */
export const BUS_PATH = '/bus'
/** Where the buses of cells elsewhere do, as its leaf nodes. */
export const BUS_LEAF_PATH = '/bus/leaf'

/** A bus message is 4 MiB at most, and senders put several into a frame only while they are small. */
const FRAME_BYTES_MAX = 8 * 2 ** 20
/** A CONNECT with the longest credential. */
const CONNECT_BYTES_MAX = 16 * 2 ** 10
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
  const isTrustedProxy = trustedProxies(gateway.config.trustedProxies)
  const open = new Set<Promise<void>>()
  let isEnding = false
  const upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (!isBusPath(request.url)) return
    socket.on('error', () => {})
    const target = targetOf(gateway, request.url)
    // Behind a proxy everybody has its address.
    const { remoteAddress } = request.socket
    const address = isTrustedProxy(remoteAddress) ? undefined : remoteAddress
    if (isEnding) return refuse(socket, '503 Service Unavailable')
    if (target === undefined) return refuse(socket, '404 Not Found')
    const slot = slots.take(address)
    if (slot === undefined) return refuse(socket, '503 Service Unavailable')
    const ended = new Promise<void>((resolve) => finished(socket, () => resolve()))
    void ended.then(() => slot[Symbol.dispose]())
    sockets.handleUpgrade(request, socket, head, (accepted) => {
      const carried = carry(gateway, accepted, target, (peer) => slot.admit(peer.publicKey))
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

interface Target {
  readonly host: string
  readonly port: number
}

/** Where the bus takes what comes to this path; undefined where it takes no leaf nodes. */
function targetOf({ config }: Gateway, path: string | undefined): Target | undefined {
  const url = path === BUS_LEAF_PATH ? config.natsLeafUrl : config.natsUrl.split(',', 1)[0]
  if (url === undefined) return undefined
  const { hostname, port } = new URL(url)
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) }
}

/** Carries bytes both ways once the peer is known, until either side ends, and then closes both. */
async function carry(
  gateway: Gateway,
  socket: WebSocket,
  target: Target,
  admitted: (peer: BusPeer) => void,
): Promise<void> {
  const outer = createWebSocketStream(socket)
  const inner = connect({ ...target, noDelay: true })
  for (const end of [outer, inner]) end.on('error', () => {})
  // By itself the stream of a connection that was cut waits for what it had yet to send.
  socket.once('close', () => outer.destroy())
  try {
    const { peer, begun } = await greet(gateway, outer, inner)
    admitted(peer)
    inner.write(begun)
    await Promise.allSettled([pipeline(outer, inner), pipeline(inner, outer)])
  } catch (error) {
    gateway.log.debug(errorFields(error), 'bus peer not let in')
    if (!outer.destroyed) await sendLast(outer, NOT_ADMITTED)
  } finally {
    inner.destroy()
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
  inner: Duplex,
): Promise<{ readonly peer: BusPeer; readonly begun: Buffer }> {
  const signal = AbortSignal.timeout(ADMIT_LIMIT_MS)
  const info = await firstLine(inner, signal)
  outer.write(info.bytes)
  const { nonce } = JSON.parse(info.line.replace(/^INFO +/, '')) as { readonly nonce?: string }
  if (nonce === undefined)
    throw new Failure('internal', 'The bus did not request a proof of the key.')
  const connected = await firstLine(outer, signal)
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

/** The first line, and all that has come. Throws when none comes that is short enough and in time. */
async function firstLine(
  stream: Readable,
  limit: AbortSignal,
): Promise<{ readonly line: string; readonly bytes: Buffer }> {
  const closed = new AbortController()
  const onClose = () => closed.abort(new Failure('unauthenticated', 'The connection has ended.'))
  stream.once('close', onClose)
  const signal = AbortSignal.any([limit, closed.signal])
  let bytes = Buffer.alloc(0)
  try {
    for (;;) {
      signal.throwIfAborted()
      const chunk = stream.read() as Buffer | null
      if (chunk === null) await once(stream, 'readable', { signal })
      else bytes = Buffer.concat([bytes, chunk])
      const end = bytes.indexOf('\r\n')
      if (end >= 0) return { line: bytes.toString('utf8', 0, end), bytes }
      if (bytes.length > CONNECT_BYTES_MAX)
        throw new Failure('unauthenticated', 'The first line is too long.')
    }
  } finally {
    stream.off('close', onClose)
  }
}

function refuse(socket: Duplex, status: string): void {
  finished(socket, () => socket.destroy())
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
}
