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

/** A watch of a gateway whose database, bus and other gateways `state` describes. */
function watchOf(
  state: {
    isThere: boolean
    anotherReaches: boolean
    allMiss?: boolean
    hasNoBus?: boolean
    isOnly?: boolean
  },
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
    nats: {
      rtt: async () => {
        if (state.hasNoBus === true) throw new Error('no route to the bus')
        return 1
      },
    },
    clock,
    log: createLogger('reach', 'silent'),
    compute: {
      others: {
        areNone: state.isOnly === true,
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
  ['gives up its work where there are other gateways', false, true],
  ['keeps its work where it is the only one', true, false],
])('a gateway that loses its database and the bus %s', async (_, isOnly, isGivenUp) => {
  const clock = hastyClock()
  const state = { isThere: true, anotherReaches: false, hasNoBus: false, isOnly }
  let hasGivenUp = false
  await using watch = watchOf(state, clock, () => {
    hasGivenUp = true
  })
  await clock.sleep(1_000)
  Object.assign(state, { isThere: false, hasNoBus: true })
  await expect.poll(() => watch.missing).toBe('database')
  const lostAt = clock.elapsed()
  await expect.poll(() => clock.elapsed() - lostAt > 10_000).toBe(true)

  expect(hasGivenUp).toBe(isGivenUp)
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
