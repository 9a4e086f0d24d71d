import { setTimeout as sleep } from 'node:timers/promises'
import { callApi, type Session } from '#deploy/api/session.ts'
import { Connection } from '../connection.ts'
import { type Product, SERVERS } from '../product.ts'
import { manyOf, succeed } from '../request.ts'
import { median } from '../statistics.ts'
import { deleteStorm } from './storms.ts'

/** Of one request for many servers. */
export interface BatchFigures {
  /** Until the request is answered. */
  readonly answeredMs: number
  /** Until all of its servers are ACTIVE. */
  readonly activeMs: number
}

const NAME = 'bench-batch'
const POLL_MS = 15
const LIMIT_MS = 120_000

/** Requests so many servers at once with `min_count`, as often as there are rounds; the median of each figure. */
export async function measureBatch(
  product: Product,
  servers: number,
  rounds: number,
): Promise<Readonly<Record<string, BatchFigures>>> {
  const ways = {
    'on no network': product.requests.create(NAME),
    'on a network': product.createOnNetwork(NAME),
  }
  const figures: Record<string, BatchFigures> = {}
  for (const [way, one] of Object.entries(ways)) {
    const request = manyOf(one, servers)
    const runs: BatchFigures[] = []
    for (let round = 1; round <= rounds; round += 1)
      runs.push(await oneBatch(product, request, servers))
    figures[`POST /servers of ${servers}, ${way}`] = {
      answeredMs: median(runs.map(({ answeredMs }) => answeredMs)),
      activeMs: median(runs.map(({ activeMs }) => activeMs)),
    }
  }
  return figures
}

async function oneBatch(product: Product, request: Buffer, servers: number): Promise<BatchFigures> {
  using connection = await Connection.open(product.origin)
  const wanted = (await product.count()).active + servers
  const startedAt = performance.now()
  await succeed(connection, request)
  const answeredMs = performance.now() - startedAt
  while ((await product.count()).active < wanted) {
    if (performance.now() - startedAt > LIMIT_MS)
      throw new Error(`${JSON.stringify(await product.count())} in ${LIMIT_MS} ms`)
    await sleep(POLL_MS)
  }
  const activeMs = performance.now() - startedAt
  await deleteStorm(product, await idsOf(product.demo, servers))
  return { answeredMs, activeMs }
}

async function idsOf(session: Session, servers: number): Promise<readonly string[]> {
  const path = `${SERVERS}?name=^${NAME}&limit=${servers}`
  const listed = await callApi<{ servers: readonly { readonly id: string }[] }>(session, {
    method: 'GET',
    path,
  })
  return listed.servers.map(({ id }) => id)
}
