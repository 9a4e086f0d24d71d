import { hash, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Registry } from 'prom-client'
import { Failure } from '#common/errors.ts'
import { errorFields } from '#common/log.ts'
import type { Compute } from '../compute.ts'
import { networkMetrics } from './network-metrics.ts'

export interface MetricsSettings {
  /** 0: any free port. */
  readonly port: number
  readonly address: string
  /** What monitoring sends as `Authorization: Bearer TOKEN`; undefined: nothing. */
  readonly token: string | undefined
}

export interface ServedMetrics extends AsyncDisposable {
  readonly url: string
}

/** Afterwards `/metrics` of the host is served. Throws `unavailable` for an address that cannot be listened on. */
export async function serveMetrics(
  { driver, metadata, log }: Pick<Compute, 'driver' | 'metadata' | 'log'>,
  { port, address, token }: MetricsSettings,
): Promise<ServedMetrics> {
  const registry = new Registry()
  const network =
    driver.networkStatistics &&
    metadata &&
    networkMetrics(registry, driver.networkStatistics, metadata)
  const answer = async (request: IncomingMessage): Promise<readonly [number, string]> => {
    if (request.method !== 'GET' || request.url !== '/metrics') return [404, 'See /metrics.\n']
    if (!mayRead(request, token)) return [401, 'A token is required: see COMPUTE_METRICS_TOKEN.\n']
    try {
      await network?.update()
      return [200, await registry.metrics()]
    } catch (error) {
      log.warn(errorFields(error), 'metrics could not be read')
      return [503, `${error instanceof Failure ? error.message : 'They could not be read.'}\n`]
    }
  }
  const server = createServer((request, response) => {
    void answer(request).then(([status, text]) => {
      const type = status === 200 ? registry.contentType : 'text/plain'
      response.writeHead(status, { 'Content-Type': type }).end(text)
    })
  })
  try {
    await once(server.listen(port, address), 'listening')
  } catch (cause) {
    const why = `COMPUTE_METRICS_PORT: ${address}:${port} cannot be listened on. Choose another, or 0 for any free port.`
    throw new Failure('unavailable', why, { cause })
  }
  const { port: chosen } = server.address() as AddressInfo
  const url = `http://${address.includes(':') ? `[${address}]` : address}:${chosen}/metrics`
  log.info({ url }, 'metrics are served')
  return {
    url,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise<void>((resolve) => {
        server.close(() => resolve())
      })
    },
  }
}

const BEARER = /^Bearer (\S+)$/i

function mayRead({ headers }: IncomingMessage, token: string | undefined): boolean {
  if (token === undefined) return true
  const sent = BEARER.exec(headers.authorization ?? '')?.[1] ?? ''
  return timingSafeEqual(digest(sent), digest(token))
}

/** The same length for a text of any length. */
function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer')
}
