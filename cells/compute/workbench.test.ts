import { expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import { Failure } from '#common/errors.ts'
import { type InstanceId, newId, type OperationId } from '#common/ids.ts'
import type { HostAnswer } from '#openapi/wire/host.ts'
import { type Job, RANKS, Workbench } from './workbench.ts'

const DONE: HostAnswer = { state: 'done', powerState: 1 }
const LONG_MS = 5_000

function job(run: Job['run'], more: Partial<Job> = {}): Job {
  const instance = newId<InstanceId>()
  return { operation: newId<OperationId>(), instance, rank: RANKS.ordinary, run, ...more }
}

function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { opened: promise, open: resolve }
}

/** Work that lasts until it is cut short; `started` is called once it runs. */
function untilAborted(started: () => void): Job['run'] {
  return (signal) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(new Failure('unavailable', 'cut short')))
      started()
    })
}

test('ask() twice for one operation runs it once and answers both', async () => {
  await using bench = new Workbench(systemClock)
  let runs = 0
  const { opened, open } = gate()
  const slow = job(async () => {
    runs += 1
    await opened
    return DONE
  })

  const first = bench.ask(slow, LONG_MS)
  const second = bench.ask(slow, LONG_MS)
  open()

  expect(await Promise.all([first, second])).toEqual([DONE, DONE])
  expect(await bench.ask(slow, LONG_MS)).toEqual(DONE)
  expect(runs).toBe(1)
})

test('ask() answers "working" for what takes longer, and the outcome when asked again', async () => {
  await using bench = new Workbench(systemClock)
  const { opened, open } = gate()
  const slow = job(() => opened.then(() => DONE))

  expect(await bench.ask(slow, 1)).toEqual({ state: 'working' })
  open()

  expect(await bench.ask(slow, LONG_MS)).toEqual(DONE)
})

test('ask() runs an operation again after its outcome was unknown', async () => {
  await using bench = new Workbench(systemClock)
  let runs = 0
  const flaky = job(async () => {
    runs += 1
    if (runs === 1) throw new Failure('unavailable', 'gone')
    return DONE
  })

  await expect(bench.ask(flaky, LONG_MS)).rejects.toThrow('gone')
  expect(await bench.ask(flaky, LONG_MS)).toEqual(DONE)
})

test('jobs of one instance run one after the other', async () => {
  await using bench = new Workbench(systemClock)
  const instance = newId<InstanceId>()
  const { opened, open } = gate()
  const order: string[] = []
  const first = bench.ask(
    job(
      async () => {
        await opened
        order.push('first')
        return DONE
      },
      { instance },
    ),
    LONG_MS,
  )
  const second = bench.ask(
    job(
      async () => {
        order.push('second')
        return DONE
      },
      { instance },
    ),
    LONG_MS,
  )
  open()
  await Promise.all([first, second])

  expect(order).toEqual(['first', 'second'])
})

test('a job pre-empted before it began never runs', async () => {
  await using bench = new Workbench(systemClock)
  const instance = newId<InstanceId>()
  const never = bench.ask(
    job(() => Promise.reject(new Error('it ran')), { instance }),
    LONG_MS,
  )
  const destroying = bench.ask(
    job(async () => DONE, { instance, rank: RANKS.last }),
    LONG_MS,
  )

  await expect(never).rejects.toThrow('cut short')
  expect(await destroying).toEqual(DONE)
})

test('a pre-empting job aborts the one under way and runs after it has ended', async () => {
  await using bench = new Workbench(systemClock)
  const instance = newId<InstanceId>()
  const order: string[] = []
  const { opened: started, open: starting } = gate()
  const spawning = bench.ask(
    job(
      (signal) =>
        new Promise((_resolve, reject) => {
          starting()
          signal.addEventListener('abort', () => {
            order.push('spawn aborted')
            reject(new Failure('unavailable', 'cut short'))
          })
        }),
      { instance },
    ),
    LONG_MS,
  )
  spawning.catch(() => {})
  await started
  const destroying = bench.ask(
    job(
      async () => {
        order.push('destroyed')
        return DONE
      },
      { instance, rank: RANKS.last },
    ),
    LONG_MS,
  )

  await expect(spawning).rejects.toThrow('cut short')
  expect(await destroying).toEqual(DONE)
  expect(order).toEqual(['spawn aborted', 'destroyed'])
})

test('a pre-empting job ends all that were asked before it, also the one another waits for', async () => {
  await using bench = new Workbench(systemClock)
  const instance = newId<InstanceId>()
  const { opened: started, open: starting } = gate()
  const spawning = bench.ask(job(untilAborted(starting), { instance }), LONG_MS)
  const waiting = bench.ask(
    job(async () => DONE, { instance }),
    LONG_MS,
  )
  const both = Promise.allSettled([spawning, waiting])
  await started

  const destroying = job(async () => DONE, { instance, rank: RANKS.last })

  expect(await bench.ask(destroying, LONG_MS)).toEqual(DONE)
  expect((await both).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
})

test('a pre-empting job lets another one finish', async () => {
  await using bench = new Workbench(systemClock)
  const instance = newId<InstanceId>()
  const { opened, open } = gate()
  const first = bench.ask(
    job(
      async (signal) => {
        await opened
        signal.throwIfAborted()
        return DONE
      },
      { instance, rank: RANKS.last },
    ),
    LONG_MS,
  )
  const second = bench.ask(
    job(async () => DONE, { instance, rank: RANKS.last }),
    LONG_MS,
  )
  open()

  expect(await Promise.all([first, second])).toEqual([DONE, DONE])
})
