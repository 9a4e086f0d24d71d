import { expect, test } from 'vitest'
import { freePrefix } from './allocate-prefix.ts'

const pool = (...prefixes: readonly string[]) => ({ prefixes })
const taken = (...cidrs: readonly string[]) => cidrs.map((cidr) => ({ cidr }))

test.each([
  [pool('10.0.0.0/16'), [], 24, '10.0.0.0/24'],
  [pool('10.0.0.0/16'), ['10.0.0.0/24'], 24, '10.0.1.0/24'],
  [pool('10.0.0.0/16'), ['10.0.1.0/24', '10.0.0.0/24'], 25, '10.0.2.0/25'],
  [pool('10.0.0.0/16'), ['10.0.0.0/26'], 25, '10.0.0.128/25'],
  [pool('10.0.0.0/16'), ['10.0.0.0/17', '10.0.255.0/24'], 17, undefined],
  [pool('10.0.0.0/16'), [], 16, '10.0.0.0/16'],
  [pool('10.0.0.0/16'), [], 15, undefined],
  [pool('10.0.0.0/24', '10.0.1.0/24'), [], 23, '10.0.0.0/23'],
  [pool('10.0.1.0/24', '10.0.2.0/24'), [], 23, undefined],
  [pool('10.0.0.0/24', '10.9.0.0/24'), ['10.0.0.0/25', '10.0.0.128/25'], 25, '10.9.0.0/25'],
  [pool('10.0.0.0/24'), ['10.0.0.128/32'], 25, '10.0.0.0/25'],
  [pool('2001:db8::/48'), ['2001:db8::/64'], 64, '2001:db8:0:1::/64'],
  // What was taken before the pool had it, or lies across its end.
  [pool('10.0.1.0/24'), ['10.0.0.0/23'], 26, undefined],
] as const)('of %j without %j a prefix of %i bits is %s', (from, used, length, free) => {
  expect(freePrefix(from, taken(...used), length)).toBe(free)
})

test('prefixes of any lengths fill a pool without an overlap', () => {
  const from = pool('10.0.0.0/22', '10.0.8.0/23')
  const lengths = [26, 24, 28, 25, 24, 26, 27, 25, 30, 24, 23, 28, 26]
  const used: string[] = []
  for (const length of lengths) {
    const found = freePrefix(from, taken(...used), length)
    if (found !== undefined) used.push(found)
  }

  const ranges = used.map((cidr) => {
    const [address = '', length = ''] = cidr.split('/')
    const first = address.split('.').reduce((sum, byte) => sum * 256 + Number(byte), 0)
    return { first, last: first + 2 ** (32 - Number(length)) - 1 }
  })
  ranges.sort((a, b) => a.first - b.first)
  for (const [index, range] of ranges.entries())
    expect(range.first).toBeGreaterThan(ranges[index - 1]?.last ?? -1)
  expect(used.length).toBeGreaterThan(9)
})
