import { setTimeout as sleep } from 'node:timers/promises'
import type { Connection } from '#test/bench/connection.ts'
import { Connections } from '#test/bench/connections.ts'
import { percentile } from '#test/bench/statistics.ts'
import type { Command, Outcome, Stream } from './commands.ts'

const TICK_MS = 10
/** The name of what connections ask again and again. */
const LOOP = 'loop'
/** Connections opened at once: more would overflow the queue of the listening socket. */
const OPENED_AT_ONCE = 250
const RETRY_AFTER = /\r\nretry-after: *\d/i

/** What has been seen so far. */
class Tally {
  readonly #statuses: Record<string, Record<string, number>> = {}
  readonly #latencies: number[] = []
  #withoutRetryAfter = 0
  #broken = 0

  async ask(connection: Connection, name: string, request: Buffer): Promise<void> {
    const askedAt = performance.now()
    try {
      const { status, head } = await connection.ask(request)
      this.#latencies.push(performance.now() - askedAt)
      const of = (this.#statuses[name] ??= {})
      of[status] = (of[status] ?? 0) + 1
      if (status === 429 && !RETRY_AFTER.test(head)) this.#withoutRetryAfter += 1
    } catch {
      this.#broken += 1
    }
  }

  outcome(durationMs: number): Outcome {
    return {
      statuses: this.#statuses,
      withoutRetryAfter: this.#withoutRetryAfter,
      broken: this.#broken,
      perSecond: (1_000 * this.#latencies.length) / durationMs,
      p50Ms: percentile(this.#latencies, 0.5),
      p99Ms: percentile(this.#latencies, 0.99),
    }
  }
}

async function opened(origin: URL, count: number): Promise<readonly Connections[]> {
  const all: Connections[] = []
  for (let left = count; left > 0; left -= OPENED_AT_ONCE)
    all.push(await Connections.open(origin, Math.min(left, OPENED_AT_ONCE)))
  return all
}

async function carryOut(command: Command): Promise<Outcome> {
  const groups = await opened(new URL(command.origin), command.connections)
  const connections = groups.flatMap(({ all }) => all)
  const tally = new Tally()
  const startedAt = performance.now()
  const isOver = () => performance.now() - startedAt >= command.durationMs
  const { streams = [], loop } = command
  const looping = loop && askAgain(loop, connections, tally, isOver)
  await Promise.all([looping, sendStreams(streams, connections, tally, isOver)])
  const outcome = tally.outcome(performance.now() - startedAt)
  for (const group of groups) group[Symbol.dispose]()
  return outcome
}

async function askAgain(
  { request, pauseMs }: NonNullable<Command['loop']>,
  connections: readonly Connection[],
  tally: Tally,
  isOver: () => boolean,
): Promise<void> {
  const bytes = Buffer.from(request, 'latin1')
  await Promise.all(
    connections.map(async (connection) => {
      while (!isOver()) {
        await tally.ask(connection, LOOP, bytes)
        if (pauseMs > 0) await sleep(pauseMs)
      }
    }),
  )
}

/** A request that finds no connection idle is not sent: that its client waits is the same overload. */
async function sendStreams(
  streams: readonly Stream[],
  connections: readonly Connection[],
  tally: Tally,
  isOver: () => boolean,
): Promise<void> {
  const idle = [...connections]
  const asked = new Set<Promise<void>>()
  const ready = streams.map((stream) => {
    return { ...stream, sent: 0, bytes: Buffer.from(stream.request, 'latin1') }
  })
  const send = (connection: Connection, { name, bytes }: (typeof ready)[number]) => {
    const answered = tally.ask(connection, name, bytes).then(() => {
      idle.push(connection)
      asked.delete(answered)
    })
    asked.add(answered)
  }
  const startedAt = performance.now()
  while (streams.length > 0 && !isOver()) {
    const seconds = (performance.now() - startedAt) / 1_000
    for (const stream of ready)
      for (; idle.length > 0 && stream.sent < seconds * stream.perSecond; stream.sent += 1)
        send(idle.shift()!, stream)
    await sleep(TICK_MS)
  }
  await Promise.all(asked)
}

process.on('message', (command: Command) => {
  void carryOut(command).then((outcome) => process.send?.(outcome))
})
