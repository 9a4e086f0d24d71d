import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import type { Gateway } from './context.ts'
import { serveConsoleSockets } from './http/consoles/console-sockets.ts'
import { linksSource } from './http/links.ts'
import { trustedProxies } from './http/trusted-proxies.ts'
import { createServer } from './server.ts'

const HEADERS_TIMEOUT_MS = 15_000
/** Of a whole request: an image is uploaded in one. */
const REQUEST_TIMEOUT_MS = 3_600_000
/** Longer than the pools of usual proxies keep theirs, so that the client closes first. */
const KEEP_ALIVE_MS = 75_000
/** What requests in progress get when the gateway stops. */
const DRAIN_MS = 10_000

/** A gateway that takes connections. Disposing it stops listening, lets requests finish, then cuts them off. */
export interface Listening extends AsyncDisposable {
  readonly host: string
  readonly port: number
}

/** Resolves when connections are taken; rejects when the address cannot be had. */
export async function listen(gateway: Gateway): Promise<Listening> {
  const { listenHost, port } = gateway.config
  const server = createAdaptorServer({ fetch: createServer(gateway).fetch }) as Server
  server.headersTimeout = HEADERS_TIMEOUT_MS
  server.requestTimeout = REQUEST_TIMEOUT_MS
  server.keepAliveTimeout = KEEP_ALIVE_MS
  const { publicUrl, trustedProxies: proxies } = gateway.config
  const linksOf = linksSource(publicUrl, trustedProxies(proxies))
  const consoles = serveConsoleSockets(server, gateway, linksOf)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, listenHost, resolve)
  })
  return {
    host: listenHost,
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      await consoles[Symbol.asyncDispose]()
      // Their streams would never end by themselves.
      await gateway.events[Symbol.asyncDispose]()
      await stop(server)
    },
  }
}

async function stop(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeIdleConnections()
  const cutOff = setTimeout(() => server.closeAllConnections(), DRAIN_MS)
  await closed
  clearTimeout(cutOff)
}
