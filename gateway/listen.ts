import type { Server } from 'node:http'
import { createServer as createSecureServer, type Server as SecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { writeTargetFile } from '#common/metrics/target-file.ts'
import type { CertificateWatch } from '#common/tls/certificate-watch.ts'
import type { GatewayConfig } from './config.ts'
import type { Gateway } from './context.ts'
import { BusSlots } from './http/bus-slots.ts'
import { serveBusSockets } from './http/bus-sockets.ts'
import { serveConsoleSockets } from './http/consoles/console-sockets.ts'
import { linksSource } from './http/links.ts'
import { consoleMetrics } from './metrics/console-metrics.ts'
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

/** Answers requests, and is attached to each server, for consoles and the bus. */
export interface Face {
  readonly fetch: FetchCallback
  /** What it returns is disposed of before the server stops. */
  readonly attach?: (server: Server, parts: AsyncDisposableStack) => void
}

/** Resolves when the gateway takes connections; rejects when an address cannot be had. */
export async function listen(gateway: Gateway): Promise<Listening> {
  const { fetch } = createServer(gateway)
  const consoles = consoleMetrics(gateway.metrics.registry)
  const busSlots = new BusSlots()
  const linksOf = linksSource(gateway.config.publicUrl, gateway.isTrustedProxy)
  const attach = (server: Server, parts: AsyncDisposableStack) => {
    gateway.rotation.watch(server)
    parts.defer(() => gateway.rotation.finish())
    // Their streams would never end by themselves.
    parts.defer(() => gateway.events[Symbol.asyncDispose]())
    parts.use(serveConsoleSockets(server, gateway, linksOf, consoles))
    parts.use(serveBusSockets(server, gateway, busSlots))
  }
  const listening = await listenWith(gateway.config, gateway.certificate, { fetch, attach })
  announceMetrics(gateway.config, listening.port)
  return listening
}

/** Afterwards Prometheus finds the gateway's metrics, where the gateway is to say where they are. */
function announceMetrics(
  { listenHost, metricsTargets, processName: process }: GatewayConfig,
  port: number,
): void {
  if (metricsTargets === undefined) return
  const host = listenHost === '0.0.0.0' ? '127.0.0.1' : listenHost
  const labels = { program: 'gateway', process }
  writeTargetFile(metricsTargets, { address: `${host}:${port}`, labels })
}

/** The same for what a gateway answers while its site is on standby. */
export async function listenWith(
  { listenHost, port, tls }: GatewayConfig,
  certificate: CertificateWatch | undefined,
  face: Face,
): Promise<Listening> {
  await using parts = new AsyncDisposableStack()
  const plain = createAdaptorServer({ fetch: face.fetch }) as Server
  const actual = await serve(parts, face, plain, { host: listenHost, port })
  const secure = certificate && secureServer(certificate, face.fetch)
  const tlsPort =
    tls === undefined || secure === undefined
      ? undefined
      : await serve(parts, face, secure, { host: tls.host, port: tls.port })
  const owned = parts.move()
  return {
    host: listenHost,
    port: actual,
    tlsPort,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** Serves the certificate there is; one that comes later holds for new connections. */
function secureServer(certificate: CertificateWatch, fetch: FetchCallback): Server {
  const { cert, key } = certificate.current
  const server = createAdaptorServer({
    fetch,
    createServer: createSecureServer,
    serverOptions: { cert, key, minVersion: 'TLSv1.2' },
  }) as SecureServer
  certificate.onRenewal((next) => server.setSecureContext({ cert: next.cert, key: next.key }))
  return server
}

/** Returns the port, once connections are taken. */
async function serve(
  parts: AsyncDisposableStack,
  { attach }: Face,
  server: Server,
  at: { readonly host: string; readonly port: number },
): Promise<number> {
  server.headersTimeout = HEADERS_TIMEOUT_MS
  server.requestTimeout = REQUEST_TIMEOUT_MS
  server.keepAliveTimeout = KEEP_ALIVE_MS
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(at.port, at.host, resolve)
  })
  parts.defer(() => stop(server))
  attach?.(server, parts)
  return (server.address() as AddressInfo).port
}

async function stop(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeIdleConnections()
  const cutOff = setTimeout(() => server.closeAllConnections(), DRAIN_MS)
  await closed
  clearTimeout(cutOff)
}
