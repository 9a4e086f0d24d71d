import { expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import type { Executor } from '#common/db/database.ts'
import { createLogger } from '#common/log.ts'
import { EventTail } from './event-tail.ts'

/** The numbers it is looked at with; only the state of the events is read. */
function databaseWith(last: () => number): Executor {
  const rows = () => Promise.resolve([{ last: last(), removed: 0 }])
  return { rows } as unknown as Executor
}

const tail = (watchersMax: number, last = () => 0, clock = systemClock) =>
  new EventTail({
    db: databaseWith(last),
    clock,
    log: createLogger('test', 'error'),
    watchersMax,
    projectWatchersMax: 2,
  })

test('a watcher that has gone before the watch begins takes no place', async () => {
  await using watched = tail(1)

  expect(watched.watch('p', AbortSignal.abort()).isEnded).toBe(true)
  const watcher = watched.watch('p', new AbortController().signal)

  expect(watcher.isEnded).toBe(false)
  expect(() => watched.watch('p', new AbortController().signal)).toThrow('Too many')
  watcher.end()
})

test('a watcher that comes after the last one left gets new events', async () => {
  let last = 0
  await using watched = tail(2, () => last)
  const until = AbortSignal.timeout(10_000)
  const first = watched.watch('p', until)
  last = 1
  await first.beyond(0, until)
  first.end()

  const second = watched.watch('p', until)
  last = 2
  await second.beyond(1, until)

  expect(until.aborted).toBe(false)
  second.end()
})

test('events numbered here are passed on without waiting', async () => {
  let last = 0
  const forEver = {
    now: () => 0,
    elapsed: () => 0,
    sleep: (_ms: number, signal?: AbortSignal) => systemClock.sleep(60_000, signal),
  }
  await using watched = tail(1, () => last, forEver)
  const until = AbortSignal.timeout(10_000)
  const watcher = watched.watch('p', until)

  last = 1
  watched.wake()
  await watcher.beyond(0, until)

  expect(until.aborted).toBe(false)
  watcher.end()
  watched.wake()
})

test('one project takes no more than its share', async () => {
  await using watched = tail(5)
  const until = new AbortController().signal
  const [first] = [watched.watch('p', until), watched.watch('p', until)]

  expect(() => watched.watch('p', until)).toThrow('The project has 2 event streams open')
  expect(watched.watch('q', until).isEnded).toBe(false)
  first.end()
  expect(watched.watch('p', until).isEnded).toBe(false)
})
