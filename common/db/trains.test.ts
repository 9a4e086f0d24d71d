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
  const ride = (text: string, name: string, arrives: Promise<void> = Promise.resolve()) =>
    trains.ride({
      parts: [{ text, values: [name] }],
      alone: () => {
        left.push(name)
        return arrives
      },
    })
  return { left, gate, ride }
}

test('whoever comes first leaves at once, and those who come meanwhile leave together', async () => {
  const { left, gate, ride } = station()

  const first = ride('a', 'first', gate.promise)
  const others = ['second', 'third'].map((name) => ride('a', name))
  const elsewhere = ride('b', 'elsewhere')
  expect(left).toEqual(['first', 'elsewhere'])
  gate.resolve()
  await Promise.all([first, ...others, elsewhere])
  await ride('a', 'later')

  expect(left).toEqual(['first', 'elsewhere', '2 together', 'later'])
})

test('when those who go together fail, each goes alone and ends as it does alone', async () => {
  const { left, gate, ride } = station(async () => false)

  const first = ride('a', 'first', gate.promise)
  const good = ride('a', 'good')
  const bad = ride('a', 'bad', Promise.reject(new Error('taken')))
  gate.resolve()

  await Promise.all([first, good])
  await expect(bad).rejects.toThrow('taken')
  expect(left).toEqual(['first', '2 together', 'good', 'bad'])
})

test('where it is not known whether they committed, none is run again', async () => {
  const { left, gate, ride } = station(() => Promise.reject(new Error('connection lost')))

  const first = ride('a', 'first', gate.promise)
  const others = ['second', 'third'].map((name) => ride('a', name))
  gate.resolve()

  await first
  for (const each of await Promise.allSettled(others)) expect(each.status).toBe('rejected')
  expect(left).toEqual(['first', '2 together'])
})

test('nobody waits for long behind one that waits for a lock', async () => {
  const { left, gate, ride } = station()

  const first = ride('a', 'first', gate.promise)
  await ride('a', 'second')

  expect(left).toEqual(['first', 'second'])
  gate.resolve()
  await first
})
