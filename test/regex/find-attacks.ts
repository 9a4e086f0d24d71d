import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Attack } from './pump.ts'

export type Expression = Pick<RegExp, 'source' | 'flags'>

/** The search calls itself for every character: how deep a stack of the usual size lets it depends on what is compiled by then. */
const STACK_MB = 64

/** For each expression the first text that makes it slow; undefined: none is found. */
export async function findAttacks(
  expressions: readonly Expression[],
): Promise<readonly (Attack | undefined)[]> {
  const worker = new Worker(new URL('./search-worker.ts', import.meta.url), {
    workerData: expressions.map(({ source, flags }) => ({ source, flags })),
    resourceLimits: { stackSizeMb: STACK_MB },
  })
  const [found] = (await once(worker, 'message')) as [readonly (Attack | undefined)[]]
  await worker.terminate()
  return found
}
