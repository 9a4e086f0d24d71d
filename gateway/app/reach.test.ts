import { expect, test } from 'vitest'
import type { Clock } from '#common/clock.ts'
import type { Database } from '#common/db/database.ts'
import { createLogger } from '#common/log.ts'
import { Reach, ReachWatch } from './reach.ts'

/** Whose time passes as soon as something sleeps. */
function hastyClock(): Clock {
  let now = 0
  return {
    now: () => now,
    elapsed: () => now,
    sleep: async (ms, signal) => {
      await new Promise(setImmediate)
      signal?.throwIfAborted()
      now += ms
    },
  }
}

/** A watch of a gateway with a good bus, and a database that `state` describes. */
function watchOf(
  state: { isThere: boolean; anotherReaches: boolean; allMiss?: boolean },
  clock: Clock,
  giveUp = () => {},
) {
  const rows = async () => {
    if (!state.isThere) throw new Error('no route to the database')
    return [{ now: 0 }]
  }
  return new ReachWatch({
    reach: new Reach(),
    db: { answeredAt: Number.NEGATIVE_INFINITY, giveUp, resume: () => {} },
    probed: { rows } as unknown as Database,
    nats: { rtt: async () => 1 },
    clock,
    log: createLogger('reach', 'silent'),
    compute: {
      others: {
        areNone: false,
        anyReachesDatabase: () => state.anotherReaches,
        anyMayReachDatabase: () => state.allMiss !== true,
      },
    },
  })
}

test('a gateway that was cut off alone gives requests back for a while, even where another one is slow to answer', async () => {
  const clock = hastyClock()
  const state = { isThere: true, anotherReaches: true }
  await using watch = watchOf(state, clock)
  await clock.sleep(1_000)
  expect(watch.mayAnotherServe).toBe(false)

  state.isThere = false
  await expect.poll(() => watch.mayAnotherServe).toBe(true)

  state.anotherReaches = false
  await clock.sleep(5_000)
  expect(watch.mayAnotherServe).toBe(true)

  Object.assign(state, { allMiss: true })
  expect(watch.mayAnotherServe).toBe(false)

  Object.assign(state, { isThere: true, allMiss: false })
  await clock.sleep(60_000)
  await expect.poll(() => watch.mayAnotherServe).toBe(false)
})

test('a gateway gives nothing back while all of them miss the database', async () => {
  const clock = hastyClock()
  const state = { isThere: true, anotherReaches: true }
  await using watch = watchOf(state, clock)
  await clock.sleep(1_000)

  Object.assign(state, { isThere: false, anotherReaches: false })
  await expect.poll(() => watch.missing).toBe('database')
  expect(watch.mayAnotherServe).toBe(false)
})

test.each([
  ['waits for its database', true, 0],
  ['does not wait for one that is not there', false, 1],
])('a gateway that ends %s', async (_, isThere, times) => {
  const clock = hastyClock()
  const state = { isThere: true, anotherReaches: false }
  let gaveUp = 0
  {
    await using watch = watchOf(state, clock, () => {
      gaveUp += 1
    })
    await clock.sleep(1_000)
    state.isThere = isThere
    await expect.poll(() => watch.missing).toBe(isThere ? undefined : 'database')
  }

  expect(gaveUp).toBe(times)
})
