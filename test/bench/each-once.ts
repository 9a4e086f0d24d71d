import type { Answer } from './connection.ts'
import { Connections } from './connections.ts'
import { succeed } from './request.ts'

export interface Answered {
  /** In the order of the requests. */
  readonly answers: readonly Answer[]
  /** Milliseconds, in no order. */
  readonly latencies: readonly number[]
}

/** Sends every request once, at most `concurrency` at a time. Throws on any answer but a success. */
export async function eachOnce(
  origin: URL,
  requests: readonly Buffer[],
  concurrency: number,
): Promise<Answered> {
  using connections = await Connections.open(origin, Math.min(concurrency, requests.length))
  const answers = new Array<Answer>(requests.length)
  const latencies: number[] = []
  const left = requests.entries()
  await Promise.all(
    connections.all.map(async (connection) => {
      for (const [place, request] of left) {
        const askedAt = performance.now()
        answers[place] = await succeed(connection, request)
        latencies.push(performance.now() - askedAt)
      }
    }),
  )
  return { answers, latencies }
}
