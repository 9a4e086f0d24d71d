import type { Server } from 'node:http'
import { createServer as createSecureServer, type Server as SecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import type { Gateway } from './context.ts'
import { BusSlots } from './http/bus-slots.ts'
import { serveBusSockets } from './http/bus-sockets.ts'
import { type ConsoleMetrics, consoleMetrics } from './http/consoles/console-metrics.ts'
import { serveConsoleSockets } from './http/consoles/console-sockets.ts'
import { linksSource } from './http/links.ts'
import { createServer } from './server.ts'

const HEADERS_TIMEOUT_MS = 15_000
/** Of a whole request: an image is uploaded in one. */
const REQUEST_TIMEOUT_MS = 3_600_000
type FetchCallback = Parameters<typeof createAdaptorServer>[0]['fetch']

/** Longer than the pools of usual proxies keep theirs, so that the client closes first. */
const KEEP_ALIVE_MS = 75_000
/** What requests in progress get when the gateway stops. */
const DRAIN_MS = 10_000

/** A gateway that takes connections. Disposing it stops listening, lets requests finish, then cuts them off. */
export interface Listening extends AsyncDisposable {
  readonly host: string
  readonly port: number
  /** Of HTTPS; undefined where it serves none. */
  readonly tlsPort: number | undefined
}

/** Resolves when connections are taken; rejects when an address cannot be had. */
export async function listen(gateway: Gateway): Promise<Listening> {
  const { listenHost, port, tls } = gateway.config
  await using parts = new AsyncDisposableStack()
  const { fetch } = createServer(gateway)
  const consoles = consoleMetrics(gateway.metrics.registry)
  const served = { gateway, consoles, busSlots: new BusSlots() }
  const plain = createAdaptorServer({ fetch }) as Server
  const actual = await serve(parts, served, plain, { host: listenHost, port })
  const secure = tls === undefined ? undefined : secureServer(gateway, fetch)
  const tlsPort =
    tls === undefined || secure === undefined
      ? undefined
      : await serve(parts, served, secure, { host: tls.host, port: tls.port })
  const owned = parts.move()
  return {
    host: listenHost,
    port: actual,
    tlsPort,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** Serves the certificate there is; one that comes later holds for new connections. */
function secureServer({ certificate }: Gateway, fetch: FetchCallback): Server | undefined {
  if (certificate === undefined) return undefined
  const { cert, key } = certificate.current
  const server = createAdaptorServer({
    fetch,
    createServer: createSecureServer,
    serverOptions: { cert, key, minVersion: 'TLSv1.2' },
  }) as SecureServer
  certificate.onRenewal((next) => server.setSecureContext({ cert: next.cert, key: next.key }))
  return server
}

interface Served {
  readonly gateway: Gateway
  readonly consoles: ConsoleMetrics
  readonly busSlots: BusSlots
}

/** Returns the port, once connections are taken. */
async function serve(
  parts: AsyncDisposableStack,
  { gateway, consoles, busSlots }: Served,
  server: Server,
  at: { readonly host: string; readonly port: number },
): Promise<number> {
  server.headersTimeout = HEADERS_TIMEOUT_MS
  server.requestTimeout = REQUEST_TIMEOUT_MS
  server.keepAliveTimeout = KEEP_ALIVE_MS
  const { publicUrl } = gateway.config
  const linksOf = linksSource(publicUrl, gateway.isTrustedProxy)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(at.port, at.host, resolve)
  })
  parts.defer(() => stop(server))
  // Their streams would never end by themselves.
  parts.defer(() => gateway.events[Symbol.asyncDispose]())
  parts.use(serveConsoleSockets(server, gateway, linksOf, consoles))
  parts.use(serveBusSockets(server, gateway, busSlots))
  return (server.address() as AddressInfo).port
}

async function stop(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeIdleConnections()
  const cutOff = setTimeout(() => server.closeAllConnections(), DRAIN_MS)
  await closed
  clearTimeout(cutOff)
}
