import { setTimeout as sleep } from 'node:timers/promises'
import { Connection } from '../connection.ts'
import { succeed } from '../request.ts'
import { percentile } from '../statistics.ts'

/** A request that is repeated while something else happens. */
export interface Probe {
  readonly origin: URL
  readonly request: Buffer
  readonly everyMs: number
}

export interface ProbeFigures {
  readonly requests: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
}

/** How long the answers take until `during` is settled; throws what it threw, or on any answer but a success. */
export async function probeDuring(probe: Probe, during: Promise<unknown>): Promise<ProbeFigures> {
  using connection = await Connection.open(probe.origin)
  let isOver = false
  const end = () => {
    isOver = true
  }
  during.then(end, end)
  const latencies: number[] = []
  while (!isOver) {
    const askedAt = performance.now()
    await succeed(connection, probe.request)
    latencies.push(performance.now() - askedAt)
    await sleep(probe.everyMs)
  }
  await during
  return {
    requests: latencies.length,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
    maxMs: percentile(latencies, 1),
  }
}
