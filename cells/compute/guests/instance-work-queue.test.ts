import { mkdtempSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import { Failure } from '#common/errors.ts'
import { type InstanceId, newId, type OperationId } from '#common/ids.ts'
import { createLogger } from '#common/log.ts'
import type { HostAnswer } from '#openapi/wire/host.ts'
import { InstanceWorkQueue, type Job, RANKS } from './instance-work-queue.ts'
import { OperationMemory } from './operation-memory.ts'

const DONE: HostAnswer = { state: 'done', powerState: 1 }
const LONG_MS = 5_000

function job(run: Job['run'], more: Partial<Job> = {}): Job {
  const subject = newId<InstanceId>()
  return { operation: newId<OperationId>(), subject, rank: RANKS.ordinary, run, ...more }
}

/** A bench whose memory is in a file of its own, or in the one of a bench before. */
async function openBench(file = join(mkdtempSync(join(tmpdir(), 'weir-bench-')), 'operations')) {
  const memory = await OperationMemory.open({ file })
  const bench = new InstanceWorkQueue(systemClock, memory, createLogger('test', 'silent'))
  return {
    ask: (asked: Job, waitMs: number) => bench.ask(asked, waitMs),
    async [Symbol.asyncDispose]() {
      await bench[Symbol.asyncDispose]()
      await memory[Symbol.asyncDispose]()
    },
  }
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
  await using bench = await openBench()
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

test('ask() returns the outcome of work done before a restart, without repeating the work', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'weir-bench-')), 'operations')
  const failed: HostAnswer = { state: 'failed', kind: 'conflict', message: 'It cannot.' }
  const done = job(async () => DONE)
  const refused = job(async () => failed)
  {
    await using bench = await openBench(file)
    await bench.ask(done, LONG_MS)
    await bench.ask(refused, LONG_MS)
  }
  await writeFile(file, '{"id":"torn', { flag: 'a' })
  await using bench = await openBench(file)
  const again = () => Promise.reject(new Error('done twice'))

  expect(await bench.ask({ ...done, run: again }, LONG_MS)).toEqual(DONE)
  expect(await bench.ask({ ...refused, run: again }, LONG_MS)).toEqual(failed)
})

test('the oldest operations are forgotten beyond the most that are kept', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'weir-bench-')), 'operations')
  const ids = Array.from({ length: 25 }, () => newId<OperationId>())
  {
    await using memory = await OperationMemory.open({ file, operationsMax: 5 })
    for (const id of ids) await memory.keep(id, DONE)
    expect(memory.answerOf(ids.at(-6)!)).toBeUndefined()
    expect(memory.answerOf(ids.at(-5)!)).toEqual(DONE)
  }

  expect((await readFile(file, 'utf8')).trim().split('\n').length).toBeLessThanOrEqual(10)
  await using memory = await OperationMemory.open({ file, operationsMax: 5 })
  expect(ids.filter((id) => memory.answerOf(id) !== undefined)).toEqual(ids.slice(-5))
})

test('ask() answers "working" for what takes longer, and the outcome when asked again', async () => {
  await using bench = await openBench()
  const { opened, open } = gate()
  const slow = job(() => opened.then(() => DONE))

  expect(await bench.ask(slow, 1)).toEqual({ state: 'working' })
  open()

  expect(await bench.ask(slow, LONG_MS)).toEqual(DONE)
})

test('ask() runs an operation again after its outcome was unknown', async () => {
  await using bench = await openBench()
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
  await using bench = await openBench()
  const subject = newId<InstanceId>()
  const { opened, open } = gate()
  const order: string[] = []
  const first = bench.ask(
    job(
      async () => {
        await opened
        order.push('first')
        return DONE
      },
      { subject },
    ),
    LONG_MS,
  )
  const second = bench.ask(
    job(
      async () => {
        order.push('second')
        return DONE
      },
      { subject },
    ),
    LONG_MS,
  )
  open()
  await Promise.all([first, second])

  expect(order).toEqual(['first', 'second'])
})

test('a job pre-empted before it began never runs', async () => {
  await using bench = await openBench()
  const subject = newId<InstanceId>()
  const never = bench.ask(
    job(() => Promise.reject(new Error('it ran')), { subject }),
    LONG_MS,
  )
  const destroying = bench.ask(
    job(async () => DONE, { subject, rank: RANKS.last }),
    LONG_MS,
  )

  await expect(never).rejects.toThrow('cancelled before it began')
  expect(await destroying).toEqual(DONE)
})

test('a pre-empting job aborts the one under way and runs after it has ended', async () => {
  await using bench = await openBench()
  const subject = newId<InstanceId>()
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
      { subject },
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
      { subject, rank: RANKS.last },
    ),
    LONG_MS,
  )

  await expect(spawning).rejects.toThrow('cut short')
  expect(await destroying).toEqual(DONE)
  expect(order).toEqual(['spawn aborted', 'destroyed'])
})

test('a pre-empting job ends all that were asked before it, also the one another waits for', async () => {
  await using bench = await openBench()
  const subject = newId<InstanceId>()
  const { opened: started, open: starting } = gate()
  const spawning = bench.ask(job(untilAborted(starting), { subject }), LONG_MS)
  const waiting = bench.ask(
    job(async () => DONE, { subject }),
    LONG_MS,
  )
  const both = Promise.allSettled([spawning, waiting])
  await started

  const destroying = job(async () => DONE, { subject, rank: RANKS.last })

  expect(await bench.ask(destroying, LONG_MS)).toEqual(DONE)
  expect((await both).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
})

test('a pre-empting job lets another one finish', async () => {
  await using bench = await openBench()
  const subject = newId<InstanceId>()
  const { opened, open } = gate()
  const first = bench.ask(
    job(
      async (signal) => {
        await opened
        signal.throwIfAborted()
        return DONE
      },
      { subject, rank: RANKS.last },
    ),
    LONG_MS,
  )
  const second = bench.ask(
    job(async () => DONE, { subject, rank: RANKS.last }),
    LONG_MS,
  )
  open()

  expect(await Promise.all([first, second])).toEqual([DONE, DONE])
})
