import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createWebSocketStream, WebSocket } from 'ws'
import { addressesIn } from '#common/addresses.ts'
import { errorFields, type Logger } from '#common/log.ts'

/** How a cell's own bus reaches that of its deployment. */
export interface UplinkSettings {
  /** `wss://…` of a gateway, or `ws://` within one machine; of several gateways with commas between them. */
  readonly url: string
  /** Of loopback, where the cell's bus dials. */
  readonly port: number
  /** All that are known at the time of a dial, the best one first; absent: those of `url`. */
  readonly urls?: () => readonly string[]
  /** With which the cell's bus is let in there; undefined: somebody else renews it. */
  readonly credential?: { readonly file: string; readonly gatewayUrl: string } | undefined
}

const LOOPBACK = '127.0.0.1'
/** The bus of a cell dials once; more are a former connection that has not ended yet. */
const CONNECTIONS_MAX = 4
const FRAME_BYTES_MAX = 8 * 2 ** 20
const HANDSHAKE_LIMIT_MS = 10_000
/** A gateway that refuses what dials says so, and closes the connection, within two seconds. */
const REFUSED_WITHIN_MS = 3_000
/** So many such connections in a row are refusals. */
const REFUSALS_MIN = 3

/**
 * Carries what the cell's bus says to the gateway's, over a WebSocket, until disposed. The bus could dial WebSockets
 * itself, but the server of NATS 2.9 ends at a frame whose length is made up, also where it is the one that dialled.
 * Each dial begins with the next of the gateways, and goes on to the others while none opens. `onRefused` is called at each connection that the gateway does not let in, after a few in a row.
 */
export async function openUplink(
  { url, port, urls = () => addressesIn(url) }: UplinkSettings,
  log: Logger,
  onRefused: () => void = () => {},
): Promise<AsyncDisposable> {
  let short = 0
  const isRefused = () => short >= REFUSALS_MIN
  const judge = (isShort: boolean) => {
    short = isShort ? short + 1 : 0
    if (isRefused()) onRefused()
  }
  let dials = 0
  const open = new Set<Promise<void>>()
  const sockets = new Set<Socket>()
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket)
    const gateways = inTurn(urls(), dials)
    dials += 1
    const how = { log, level: isRefused() ? 'debug' : 'info' } as const
    const carried = carryToFirst(socket, gateways, how).then(judge)
    open.add(carried)
    void carried.finally(() => {
      open.delete(carried)
      sockets.delete(socket)
    })
  })
  server.maxConnections = CONNECTIONS_MAX
  await listen(server, port)
  return {
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await Promise.all([closed, ...open])
    },
  }
}

async function listen(server: Server, port: number): Promise<void> {
  server.listen(port, LOOPBACK)
  await once(server, 'listening')
}

function inTurn(urls: readonly string[], turn: number): readonly string[] {
  const first = turn % urls.length
  return [...urls.slice(first), ...urls.slice(0, first)]
}

interface HowCarried {
  readonly log: Logger
  readonly level: 'debug' | 'info'
}

/** The bus dials again by itself. True where a connection was opened and ended at once. */
async function carryToFirst(
  inner: Socket,
  urls: readonly string[],
  how: HowCarried,
): Promise<boolean> {
  inner.on('error', () => {})
  try {
    for (const url of urls) {
      const outer = inner.destroyed ? undefined : await openSocket(inner, url, how.log)
      if (outer !== undefined) return await carry(inner, outer, url, how)
    }
    return false
  } finally {
    inner.destroy()
  }
}

/** Undefined for a gateway that does not let it in, such as one of a site on standby. */
async function openSocket(inner: Socket, url: string, log: Logger): Promise<Duplex | undefined> {
  const socket = new WebSocket(url, {
    perMessageDeflate: false,
    maxPayload: FRAME_BYTES_MAX,
    handshakeTimeout: HANDSHAKE_LIMIT_MS,
  })
  const outer = createWebSocketStream(socket)
  outer.on('error', () => {})
  // By itself the stream of a connection that was cut waits for what it had yet to send.
  socket.once('close', () => outer.destroy())
  // The bus gives up on a gateway that hangs sooner than the handshake does.
  const giveUp = () => socket.terminate()
  inner.once('close', giveUp)
  try {
    await once(socket, 'open')
    return outer
  } catch (error) {
    outer.destroy()
    log.debug({ gateway: url, ...errorFields(error) }, 'uplink not open')
    return undefined
  } finally {
    inner.off('close', giveUp)
  }
}

/** True where the connection ended at once. */
async function carry(
  inner: Socket,
  outer: Duplex,
  gateway: string,
  { log, level }: HowCarried,
): Promise<boolean> {
  const since = performance.now()
  log[level]({ gateway }, 'uplink open')
  await Promise.allSettled([pipeline(inner, outer), pipeline(outer, inner)])
  log[level]({ gateway }, 'uplink ended')
  outer.destroy()
  return performance.now() - since < REFUSED_WITHIN_MS
}
