import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Attack } from './pump.ts'

export type Expression = Pick<RegExp, 'source' | 'flags'>

/** The search recurses once per character, and the depth that a default stack allows depends on which code is compiled by then. */
const STACK_MB = 64

/** For each expression the first text that makes it slow; undefined if none is found. */
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
