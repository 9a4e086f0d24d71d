import { closedLoop } from '../closed-loop.ts'
import { type Comparison, compare, type Sides } from '../compare.ts'
import type { Target } from '../target.ts'

const CONCURRENCIES = [1, 16, 64] as const
/** Long enough for the code to be compiled: a server is measured as it is after its first minute. */
const WARM_UP_MS = 2_000
const RUN_MS = 1_000

export interface LoopPhase {
  readonly name: string
  readonly concurrencies: readonly number[]
  readonly requestOf: (target: Target) => Buffer
}

export const LOOP_PHASES: Readonly<Record<'get' | 'list' | 'token', LoopPhase>> = {
  get: {
    name: 'GET /servers/{id}',
    concurrencies: CONCURRENCIES,
    requestOf: ({ requests }) => requests.one,
  },
  list: {
    name: 'GET /servers/detail?limit=100',
    concurrencies: CONCURRENCIES,
    requestOf: ({ requests }) => requests.hundred,
  },
  token: {
    name: 'POST /auth/tokens',
    concurrencies: [1, 8],
    requestOf: ({ requests }) => requests.token,
  },
}

/** A request asked in a closed loop, at each concurrency, of both sides in turns. */
export async function measureLoop(
  sides: Sides,
  phase: LoopPhase,
  rounds: number,
): Promise<Readonly<Record<string, Comparison>>> {
  const run = async (target: Target, concurrency: number, durationMs: number) => {
    const { origin } = target
    const request = phase.requestOf(target)
    const measured = await closedLoop({ origin, request, concurrency, durationMs })
    return { ...measured, operations: measured.requests }
  }
  const results: Record<string, Comparison> = {}
  for (const concurrency of phase.concurrencies) {
    for (const side of [sides.product, sides.floor]) await run(side, concurrency, WARM_UP_MS)
    results[`${phase.name} c=${concurrency}`] = await compare(sides, rounds, (target) =>
      run(target, concurrency, RUN_MS),
    )
  }
  return results
}
