import { OtlpReceiver } from '#test/env/otlp-receiver.ts'
import { closedLoop } from '../closed-loop.ts'
import { type Product, startProduct } from '../product.ts'
import { bootStorm, CONCURRENCY, deleteStorm } from './storms.ts'
import { inTurns, type Variants } from './variants.ts'

const WARM_UP_MS = 5_000
const WARM_UP_SERVERS = 500
const RUN_MS = 2_000
/** As an operator gets it who names a collector and no share of requests. */
const SHARE = 0.01

/** How often, and how many servers. */
export interface TraceRounds {
  readonly rounds: number
  readonly stormRounds: number
  readonly servers: number
}

/**
 * Reads and boots by a deployment without a collector, by itself once more, which shows what chance does to the ratio,
 * and by another that sends the spans of a hundredth of its requests to a collector.
 */
export async function measureTraces(
  owned: AsyncDisposableStack,
  off: Product,
  { rounds, stormRounds, servers }: TraceRounds,
  progress: (line: string) => void,
): Promise<Variants> {
  const collector = owned.use(await OtlpReceiver.open())
  const settings = [
    `OTEL_EXPORTER_OTLP_ENDPOINT=${collector.url}`,
    `GATEWAY_TRACE_SAMPLE_RATIO=${SHARE}`,
  ]
  const on = await startProduct(owned, { cells: 2, hosts: 2 }, progress, settings)
  // The other deployment has more servers to read.
  await bootStorm(on, WARM_UP_SERVERS, 'bench-read')
  const ways = [
    ['without traces', off],
    ['without traces, again', off],
    [`${100 * SHARE} % traced`, on],
  ] as const
  const read = async ({ origin, requests }: Product, durationMs: number) => {
    const load = { origin, request: requests.one, concurrency: CONCURRENCY, durationMs }
    const measured = await closedLoop(load)
    return { ...measured, operations: measured.requests }
  }
  for (const product of [off, on]) await read(product, WARM_UP_MS)
  const reads = await inTurns(
    off,
    ways.map(([name, product]) => ({
      name: `GET /servers/{id} c=${CONCURRENCY}, ${name}`,
      product,
      run: () => read(product, RUN_MS),
    })),
    rounds,
  )
  for (const product of [off, on])
    await deleteStorm(product, (await bootStorm(product, WARM_UP_SERVERS, 'bench-warm')).ids)
  let remove = async () => {}
  const boots = await inTurns(
    off,
    ways.map(([name, product], place) => ({
      name: `boots, ${servers} at c=${CONCURRENCY}, ${name}`,
      product,
      run: async (round: number) => {
        const { ids, run } = await bootStorm(product, servers, `bench-${place}-${round}`)
        remove = async () => void (await deleteStorm(product, ids))
        return run
      },
    })),
    stormRounds,
    () => remove(),
  )
  if (collector.spans().length === 0) throw new Error('No span came to the collector')
  return { ...reads, ...boots }
}
