import { expect, test } from 'vitest'
import { BusSlots } from './bus-slots.ts'

const LIMITS = { strangersPerAddress: 2, strangers: 3, perCredential: 1 }

test('one address cannot take every place, nor one credential every connection', () => {
  const slots = new BusSlots(LIMITS)
  const first = slots.take('192.0.2.1')
  const second = slots.take('192.0.2.1')
  expect(slots.take('192.0.2.1')).toBeUndefined()
  expect(slots.take('192.0.2.2')).toBeDefined()
  expect(slots.take('192.0.2.3')).toBeUndefined()

  first?.admit('UA')
  const third = slots.take('192.0.2.1')
  expect(third).toBeDefined()
  expect(() => second?.admit('UA')).toThrow('too many connections')

  first?.[Symbol.dispose]()
  first?.[Symbol.dispose]()
  expect(() => second?.admit('UA')).not.toThrow()
  expect(slots.take('192.0.2.1')).toBeDefined()
})

test('behind a proxy only the number of connections without a credential counts', () => {
  const slots = new BusSlots(LIMITS)
  const taken = [1, 2, 3, 4].map(() => slots.take(undefined))

  expect(taken.map((slot) => slot !== undefined)).toEqual([true, true, true, false])
})
