import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type Carry, Trains } from './trains.ts'

/** What has left, and when it may arrive. */
function station(carries: Carry = async () => true) {
  const left: string[] = []
  const gate = Promise.withResolvers<void>()
  const trains = new Trains(async (transactions) => {
    left.push(`${transactions.length} together`)
    return carries(transactions)
  })
  const ride = (text: string, name: string, arrives = async () => {}) =>
    trains.ride({
      parts: [{ text, values: [name] }],
      alone: () => {
        left.push(name)
        return arrives()
      },
    })
  return { left, gate, ride }
}

test('those who come in one turn leave together, and so do those who come meanwhile', async () => {
  const { left, gate, ride } = station(() => gate.promise.then(() => true))

  const first = ['first', 'second'].map((name) => ride('a', name))
  const elsewhere = ride('b', 'elsewhere')
  await elsewhere
  const others = ['third', 'fourth', 'fifth'].map((name) => ride('a', name))
  expect(left).toEqual(['2 together', 'elsewhere'])
  gate.resolve()
  await Promise.all([...first, ...others])
  await ride('a', 'later')

  expect(left).toEqual(['2 together', 'elsewhere', '3 together', 'later'])
})

test('when those who go together fail, each goes alone and ends as it does alone', async () => {
  const { left, ride } = station(async () => false)

  const good = ride('a', 'good')
  const bad = ride('a', 'bad', () => Promise.reject(new Error('taken')))

  await good
  await expect(bad).rejects.toThrow('taken')
  expect(left).toEqual(['2 together', 'good', 'bad'])
})

test('where it is not known whether they committed, none is run again', async () => {
  const { left, ride } = station(() => Promise.reject(new Error('connection lost')))

  const both = ['first', 'second'].map((name) => ride('a', name))

  for (const each of await Promise.allSettled(both)) expect(each.status).toBe('rejected')
  expect(left).toEqual(['2 together'])
})

test('nobody waits for long behind one that waits for a lock', async () => {
  const { left, gate, ride } = station()

  const first = ride('a', 'first', () => gate.promise)
  await setImmediate()
  await ride('a', 'second')

  expect(left).toEqual(['first', 'second'])
  gate.resolve()
  await first
})

test('a train takes no more than make a compound worth its while', async () => {
  const { left, ride } = station()

  await Promise.all(Array.from({ length: 11 }, (_, index) => ride('a', `passenger ${index}`)))

  expect(left).toEqual(['8 together', '3 together'])
})
