import { MAX, type Microversion, supportedMicroversions } from '#openapi/microversions.ts'
import { Connection } from '../connection.ts'
import type { Product } from '../product.ts'
import { succeed } from '../request.ts'
import { percentile } from '../statistics.ts'

export interface FirstFigures {
  /** How many microversions were asked for, each once. */
  readonly microversions: number
  readonly p50Ms: number
  readonly maxMs: number
  /** Of the same requests once more: what being first costs is the difference. */
  readonly again: { readonly p50Ms: number; readonly maxMs: number }
}

/**
 * How long the first request at each microversion takes, of the list whose answers changed most often. Those between
 * two changes share compiled validators, so the longest time is the result.
 */
export async function measureFirst({ origin, listAt }: Product): Promise<FirstFigures> {
  using connection = await Connection.open(origin)
  const ask = async (version: Microversion) => {
    const askedAt = performance.now()
    await succeed(connection, listAt(version))
    return performance.now() - askedAt
  }
  // The newest comes first, so that the cost of any first request is not counted.
  const [newest = MAX, ...others]: readonly Microversion[] = supportedMicroversions().toReversed()
  await ask(newest)
  const first: number[] = []
  const again: number[] = []
  for (const version of others) {
    first.push(await ask(version))
    again.push(await ask(version))
  }
  return { microversions: others.length, ...figuresOf(first), again: figuresOf(again) }
}

function figuresOf(latencies: readonly number[]): FirstFigures['again'] {
  return { p50Ms: percentile(latencies, 0.5), maxMs: percentile(latencies, 1) }
}
