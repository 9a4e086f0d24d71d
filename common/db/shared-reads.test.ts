import { expect, test } from 'vitest'
import type { Executor } from './database.ts'
import { SharedReads } from './shared-reads.ts'

const db = {} as Executor

function reader() {
  const reads = new SharedReads<number>()
  const begun: PromiseWithResolvers<number>[] = []
  const work = () => {
    const read = Promise.withResolvers<number>()
    begun.push(read)
    return read.promise
  }
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  return { begun, turn, ask: (name = 'a', on = db) => reads.read(on, name, work) }
}

test('requests of one turn share a read, and requests during a read share the next', async () => {
  const { begun, turn, ask } = reader()
  const first = [ask(), ask()]
  await turn()
  expect(begun).toHaveLength(1)

  const second = [ask(), ask(), ask()]
  await turn()
  expect(begun).toHaveLength(1)
  begun[0]!.resolve(1)
  expect(await Promise.all(first)).toEqual([1, 1])
  await turn()
  expect(begun).toHaveLength(2)
  const third = ask()
  begun[1]!.resolve(2)
  expect(await Promise.all(second)).toEqual([2, 2, 2])
  await turn()
  begun[2]!.resolve(3)
  expect(await third).toBe(3)
})

test('another name, and another database, is another read', async () => {
  const { begun, turn, ask } = reader()
  const answers = [ask('a'), ask('b'), ask('a', {} as Executor)]
  await turn()
  expect(begun).toHaveLength(3)
  begun.forEach((read, place) => read.resolve(place))
  expect(await Promise.all(answers)).toEqual([0, 1, 2])
})

test('a read that fails, fails for all that share it and for none after them', async () => {
  const { begun, turn, ask } = reader()
  const failing = [ask(), ask()]
  await turn()
  const next = ask()
  begun[0]!.reject(new Error('away'))
  for (const each of await Promise.allSettled(failing)) expect(each.status).toBe('rejected')
  await turn()
  begun[1]!.resolve(4)
  expect(await next).toBe(4)
  await turn()
  const later = ask()
  await turn()
  begun[2]!.resolve(5)
  expect(await later).toBe(5)
})
