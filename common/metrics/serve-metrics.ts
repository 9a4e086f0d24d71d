import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Registry } from 'prom-client'
import { Failure } from '../errors.ts'
import { errorFields, type Logger } from '../log.ts'
import { isBearer } from './bearer.ts'
import type { MetricsSettings } from './settings.ts'
import { type Target, writeTargetFile } from './target-file.ts'

export interface ServedMetrics extends AsyncDisposable {
  readonly url: string
}

export interface MetricsSource {
  readonly registry: Registry
  /** Called before each answer; where it fails, the answer is 503. */
  readonly update?: () => Promise<void>
  /** Of the program's settings, such as `COMPUTE_`. */
  readonly prefix: string
  /** By which Prometheus is to know it. */
  readonly labels: Target['labels']
  readonly log: Logger
}

/** Afterwards `/metrics` of the program is served. Throws `unavailable` for an address that cannot be listened on. */
export async function serveMetrics(
  source: MetricsSource,
  { port, address, token, targetsDirectory }: MetricsSettings,
): Promise<ServedMetrics> {
  const { registry, prefix, labels, log } = source
  const server = createServer((request, response) => {
    void answer(source, token, request).then(([status, text]) => {
      const type = status === 200 ? registry.contentType : 'text/plain'
      response.writeHead(status, { 'Content-Type': type }).end(text)
    })
  })
  try {
    await once(server.listen(port, address), 'listening')
  } catch (cause) {
    const why = `${prefix}METRICS_PORT: ${address}:${port} cannot be listened on. Choose another, or 0 for any free port.`
    throw new Failure('unavailable', why, { cause })
  }
  const { port: chosen } = server.address() as AddressInfo
  const at = `${address.includes(':') ? `[${address}]` : address}:${chosen}`
  const url = `http://${at}/metrics`
  if (targetsDirectory !== undefined) writeTargetFile(targetsDirectory, { address: at, labels })
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

async function answer(
  { registry, update, prefix, log }: MetricsSource,
  token: string | undefined,
  { method, url, headers }: IncomingMessage,
): Promise<readonly [number, string]> {
  if (method !== 'GET' || url !== '/metrics') return [404, 'See /metrics.\n']
  if (token !== undefined && !isBearer(headers.authorization, token))
    return [401, `A token is required: see ${prefix}METRICS_TOKEN.\n`]
  try {
    await update?.()
    return [200, await registry.metrics()]
  } catch (error) {
    log.warn(errorFields(error), 'metrics could not be read')
    return [503, `${error instanceof Failure ? error.message : 'They could not be read.'}\n`]
  }
}
