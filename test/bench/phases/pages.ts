import { LAG_PRECISION_MS } from '#common/metrics/program-metrics.ts'
import { closedLoop } from '../closed-loop.ts'
import { Connection } from '../connection.ts'
import type { Product } from '../product.ts'
import { requestBytes, succeed } from '../request.ts'
import { percentile } from '../statistics.ts'
import { bootStorm, deleteStorm } from './storms.ts'

export interface PageFigures {
  readonly pagesPerSecond: number
  /** The longest that the gateway's event loop was held, by its own account. */
  readonly loopDelayMaxMs: number
  /** Of a request that needs nothing but the event loop, meanwhile. */
  readonly otherP50Ms: number
  readonly otherMaxMs: number
  /** Of a page. */
  readonly pageP50Ms: number
}

const PAGE = 1_000
const READERS = 8
const WATCH_MS = 5_000
const LAG = /^nodejs_eventloop_lag_max_seconds (\S+)/m

/** What others feel while many ask for a page of a thousand servers. */
export async function measurePages(product: Product): Promise<PageFigures> {
  const { origin, thousand, metrics } = product
  const booter = { ...product, requests: { create: product.createOnNetwork } }
  const { ids } = await bootStorm(booter, PAGE, 'bench-page')
  const read = (durationMs: number) =>
    closedLoop({ origin, request: thousand, concurrency: READERS, durationMs })
  await read(WATCH_MS)
  using connection = await Connection.open(origin)
  // Asked for, it begins again.
  await succeed(connection, metrics)
  const reading = read(WATCH_MS)
  const others = await latenciesUntil(origin, reading)
  const pages = await reading
  const { body } = await succeed(connection, metrics)
  await deleteStorm(product, ids)
  return {
    pagesPerSecond: pages.perSecond,
    // Told is how long it took until it was looked at again, of which so much is meant.
    loopDelayMaxMs: Number(LAG.exec(body.toString())?.[1]) * 1_000 - LAG_PRECISION_MS,
    otherP50Ms: percentile(others, 0.5),
    otherMaxMs: percentile(others, 1),
    pageP50Ms: pages.p50Ms,
  }
}

/** Of the least request there is, one after the other. */
async function latenciesUntil(origin: URL, end: Promise<unknown>): Promise<readonly number[]> {
  using connection = await Connection.open(origin)
  const request = requestBytes({ method: 'GET', path: '/healthz', headers: {} })
  const latencies: number[] = []
  let isOver = false
  const over = end.finally(() => {
    isOver = true
  })
  while (!isOver) {
    const askedAt = performance.now()
    await succeed(connection, request)
    latencies.push(performance.now() - askedAt)
  }
  await over
  return latencies
}
