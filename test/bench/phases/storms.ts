import { setTimeout as sleep } from 'node:timers/promises'
import { type Comparison, compare, type Run, type Sides } from '../compare.ts'
import { eachOnce } from '../each-once.ts'
import { percentile } from '../statistics.ts'
import type { ServerCount, Target } from '../target.ts'

export const CONCURRENCY = 16
const LIMIT_MS = 120_000
/** Between two looks at how far it is: a count by index, cheap for the database and free for the processes. */
const POLL_MS = 15

/** Who is asked for servers, and says how many there are. */
export interface Booter extends Pick<Target, 'name' | 'origin' | 'count'> {
  readonly requests: Pick<Target['requests'], 'create'>
  /** Requests at a time; absent: 16. */
  readonly concurrency?: number
}

/** Servers made at once until they run, and removed at once until they are gone, on both sides in turns. */
export async function measureStorms(
  sides: Sides,
  servers: number,
  rounds: number,
): Promise<Readonly<Record<string, Comparison>>> {
  const made = new Map<string, readonly string[]>()
  const boots = await compare(sides, rounds, async (target, round) => {
    const { ids, run } = await bootStorm(target, servers, `bench-${round}`)
    made.set(`${target.name} ${round}`, ids)
    return run
  })
  const deletes = await compare(sides, rounds, (target, round) =>
    deleteStorm(target, made.get(`${target.name} ${round}`) ?? []),
  )
  return {
    [`POST /servers to ACTIVE, ${servers} at c=${CONCURRENCY}`]: boots,
    [`DELETE /servers/{id} to gone, ${servers} at c=${CONCURRENCY}`]: deletes,
  }
}

/** Afterwards so many more servers run. */
export async function bootStorm(
  target: Booter,
  servers: number,
  prefix: string,
): Promise<{ readonly ids: readonly string[]; readonly run: Run }> {
  const { requests } = target
  const wanted = (await target.count()).active + servers
  const bytes = Array.from({ length: servers }, (_, index) => requests.create(`${prefix}-${index}`))
  const { run, answers } = await storm(target, bytes, ({ active }) => active >= wanted)
  const ids = answers.map(({ body }) => {
    return (JSON.parse(body.toString()) as { server: { id: string } }).server.id
  })
  return { ids, run }
}

/** Afterwards these servers are gone. */
export async function deleteStorm(target: Target, ids: readonly string[]): Promise<Run> {
  const left = (await target.count()).existing - ids.length
  const bytes = ids.map((id) => target.requests.remove(id))
  const { run } = await storm(target, bytes, ({ existing }) => existing <= left)
  return run
}

/** Looks again and again until the counts are as wanted. Throws an Error with the last ones when that takes too long. */
export async function until<Count>(
  who: string,
  count: () => Promise<Count>,
  isOver: (count: Count) => boolean,
): Promise<void> {
  const startedAt = performance.now()
  for (let now = await count(); !isOver(now); now = await count()) {
    if (performance.now() - startedAt > LIMIT_MS)
      throw new Error(`${who}: ${JSON.stringify(now)} after ${LIMIT_MS} ms`)
    await sleep(POLL_MS)
  }
}

async function storm(
  target: Pick<Booter, 'name' | 'origin' | 'count' | 'concurrency'>,
  requests: readonly Buffer[],
  isOver: (count: ServerCount) => boolean,
) {
  const startedAt = performance.now()
  const { answers, latencies } = await eachOnce(
    target.origin,
    requests,
    target.concurrency ?? CONCURRENCY,
  )
  await until(target.name, () => target.count(), isOver)
  const seconds = (performance.now() - startedAt) / 1_000
  const run: Run = {
    operations: requests.length,
    perSecond: requests.length / seconds,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
  }
  return { run, answers }
}
