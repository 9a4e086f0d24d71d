import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { GroupCommit, type RunBatch } from './group-commit.ts'

/** Which batches have begun, in order, and a gate for those that wait. */
function commits(runs: RunBatch = async () => true) {
  const begun: string[] = []
  const gate = Promise.withResolvers<void>()
  const group = new GroupCommit(async (transactions) => {
    begun.push(`${transactions.length} together`)
    return runs(transactions)
  })
  const commit = (text: string, name: string, ends = async () => {}) =>
    group.commit({
      parts: [{ text, values: [name] }],
      alone: () => {
        begun.push(name)
        return ends()
      },
    })
  return { begun, gate, commit }
}

test('transactions that come in one turn run together, and so do those that come meanwhile', async () => {
  const { begun, gate, commit } = commits(() => gate.promise.then(() => true))

  const first = ['first', 'second'].map((name) => commit('a', name))
  const elsewhere = commit('b', 'elsewhere')
  await elsewhere
  const others = ['third', 'fourth', 'fifth'].map((name) => commit('a', name))
  expect(begun).toEqual(['2 together', 'elsewhere'])
  gate.resolve()
  await Promise.all([...first, ...others])
  await commit('a', 'later')

  expect(begun).toEqual(['2 together', 'elsewhere', '3 together', 'later'])
})

test('where a batch fails, each of its entries runs and ends alone', async () => {
  const { begun, commit } = commits(async () => false)

  const good = commit('a', 'good')
  const bad = commit('a', 'bad', () => Promise.reject(new Error('taken')))

  await good
  await expect(bad).rejects.toThrow('taken')
  expect(begun).toEqual(['2 together', 'good', 'bad'])
})

test('where it is unknown whether a batch committed, no part of the batch runs again', async () => {
  const { begun, commit } = commits(() => Promise.reject(new Error('connection lost')))

  const both = ['first', 'second'].map((name) => commit('a', name))

  for (const each of await Promise.allSettled(both)) expect(each.status).toBe('rejected')
  expect(begun).toEqual(['2 together'])
})

test('none waits for long behind one that waits for a lock', async () => {
  const { begun, gate, commit } = commits()

  const first = commit('a', 'first', () => gate.promise)
  await setImmediate()
  await commit('a', 'second')

  expect(begun).toEqual(['first', 'second'])
  gate.resolve()
  await first
})

test('a batch has no more entries than make it worth its while', async () => {
  const { begun, commit } = commits()

  await Promise.all(Array.from({ length: 11 }, (_, index) => commit('a', `entry ${index}`)))

  expect(begun).toEqual(['8 together', '3 together'])
})
