import { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import { type Clock, systemClock } from '#common/clock.ts'
import { createLogger } from '#common/log.ts'
import { OperationWatch, type OperationWatchOptions } from './operation-watch.ts'

const log = createLogger('test', 'fatal')
const never = new AbortController().signal
type Bus = OperationWatchOptions['nats']

/** What gateways hear of each other; `listening` are those subscribed. */
function bus(): { readonly nats: Bus; readonly listening: EventEmitter } {
  const listening = new EventEmitter()
  const subscribe = (subject: string, { callback }: { callback: () => void }) => {
    listening.on(subject, callback)
    const isClosed = () => !listening.listeners(subject).includes(callback)
    return { isClosed, unsubscribe: () => listening.off(subject, callback) }
  }
  const publish = (subject: string) => void listening.emit(subject)
  return { listening, nats: { subscribe, publish, isClosed: () => false } as unknown as Bus }
}

/** Whose pauses end when `pass` is called. */
function pausedClock(): Clock & { readonly pass: () => void } {
  const paused = new Set<() => void>()
  const sleep = () => new Promise<void>((resolve) => void paused.add(resolve))
  const pass = () => {
    for (const resolve of paused) resolve()
  }
  return { now: () => 0, elapsed: () => 0, sleep, pass }
}

function watching(running: ReadonlySet<string>, nats = bus().nats, clock: Clock = systemClock) {
  const queries: (readonly string[])[] = []
  const query = (ids: readonly string[]) => {
    queries.push(ids)
    return Promise.resolve(new Set(ids.filter((id) => running.has(id))))
  }
  return { queries, watch: new OperationWatch({ running: query, nats, clock, log }) }
}

test('who waits at one gateway is woken by the one that ended it, without another look', async () => {
  const { nats, listening } = bus()
  const here = watching(new Set(['a', 'b']), nats)
  const there = watching(new Set(), nats)
  await using first = here.watch
  await using second = there.watch
  const waiting = ['a', 'a', 'b'].map((id) => first.ended(id, never))
  await expect.poll(() => here.queries).toEqual([['a', 'b']])

  second.notify('a')
  await Promise.all(waiting.slice(0, 2))
  first.notify('b')
  await waiting[2]
  expect(here.queries).toHaveLength(1)
  expect(there.queries).toEqual([])
  expect(listening.eventNames()).toEqual([])
})

test('an earlier end is seen at once, and a lost message at the next look', async () => {
  const running = new Set(['later'])
  const clock = pausedClock()
  const { watch, queries } = watching(running, bus().nats, clock)
  await using watched = watch
  await watched.ended('ended', never)
  const later = watched.ended('later', never)
  await expect.poll(() => queries.at(-1)).toEqual(['later'])

  running.delete('later')
  await expect.poll(() => (clock.pass(), queries.length)).toBeGreaterThan(2)
  await later
})

test('a waiter that leaves waits no longer, and closing the watch ends every wait', async () => {
  const leaving = new AbortController()
  const { nats, listening } = bus()
  const fails = () => Promise.reject(new Error('The database is away'))
  const watch = new OperationWatch({ running: fails, nats, clock: systemClock, log })
  const left = watch.ended('a', leaving.signal)
  const stays = watch.ended('a', never)
  leaving.abort()
  await left
  expect(listening.eventNames()).toHaveLength(1)

  await watch[Symbol.asyncDispose]()
  await stays
  await watch.ended('a', never)
  expect(listening.eventNames()).toEqual([])
})
