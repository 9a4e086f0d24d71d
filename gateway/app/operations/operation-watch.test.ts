import { expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import { createLogger } from '#common/log.ts'
import { OperationWatch } from './operation-watch.ts'

const log = createLogger('test', 'fatal')
const never = new AbortController().signal

test('looks once for all who wait, wakes those whose operation has ended, and then looks no more', async () => {
  const running = new Set(['a', 'b'])
  const looks: (readonly string[])[] = []
  const looked = Promise.withResolvers<void>()
  await using watch = new OperationWatch({
    running: async (ids) => {
      looks.push(ids)
      looked.resolve()
      return running
    },
    clock: systemClock,
    log,
  })
  const waiting = ['a', 'a', 'b'].map((id) => watch.ended(id, never))
  await looked.promise
  expect(looks).toEqual([['a']])

  running.delete('a')
  await Promise.all(waiting.slice(0, 2))
  expect(looks.at(-1)).toEqual(['a', 'b'])
  running.delete('b')
  await waiting[2]
  expect(looks.at(-1)).toEqual(['b'])
})

test('whoever leaves waits no longer, nor does anybody once it is closed', async () => {
  const leaving = new AbortController()
  let fails = 0
  const watch = new OperationWatch({
    running: () => {
      fails += 1
      return Promise.reject(new Error('The database is away'))
    },
    clock: systemClock,
    log,
  })
  const left = watch.ended('a', leaving.signal)
  const stays = watch.ended('a', never)
  leaving.abort()
  await left

  await watch[Symbol.asyncDispose]()
  await stays
  await watch.ended('a', never)
  expect(fails).toBeGreaterThan(0)
})
