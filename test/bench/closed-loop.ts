import { Connections } from './connections.ts'
import { succeed } from './request.ts'
import { percentile } from './statistics.ts'

export interface Load {
  readonly origin: URL
  readonly request: Buffer
  readonly concurrency: number
  readonly durationMs: number
}

export interface Measured {
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly requests: number
}

/** Keeps `concurrency` requests open for a time and says how many were answered. Throws on any answer but a success. */
export async function closedLoop(load: Load): Promise<Measured> {
  using connections = await Connections.open(load.origin, load.concurrency)
  const startedAt = performance.now()
  const until = startedAt + load.durationMs
  const latencies: number[] = []
  await Promise.all(
    connections.all.map(async (connection) => {
      for (let now = performance.now(); now < until; ) {
        const askedAt = now
        await succeed(connection, load.request)
        now = performance.now()
        latencies.push(now - askedAt)
      }
    }),
  )
  const seconds = (performance.now() - startedAt) / 1_000
  return {
    perSecond: latencies.length / seconds,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
    requests: latencies.length,
  }
}
