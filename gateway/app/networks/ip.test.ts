import fc from 'fast-check'
import { expect, test } from 'vitest'
import { contains, formatIp, overlaps, parseCidr, parseIp } from './ip.ts'

test.each(['10.0.0.1', 'fd00::1', '::', '255.255.255.255'])(
  '%s is read and written alike',
  (text) => {
    const { version, value } = parseIp(text, 'ip')

    expect(formatIp(version, value)).toBe(text)
  },
)

test.each([
  '',
  '10.1',
  '1.2.3.4.5',
  '010.0.0.1x',
  'fe80::1%eth0',
  '0x7f.1',
  '1.2.3.256',
  '1.2.3.4/8',
])("'%s' is no address", (text) => {
  expect(() => parseIp(text, 'field')).toThrow('Invalid input for field')
})

test.each([
  '10.0.0.0',
  '10.0.0.0/33',
  '10.0.0.0/-1',
  '10.0.0.0/8/8',
  '/8',
  '10.0.0.0/',
  '10.0.0.1/8',
])("'%s' is no subnet", (text) => {
  expect(() => parseCidr(text, 'field')).toThrow('Invalid input for field')
})

test('two subnets overlap exactly when one contains the start of the other', () => {
  const subnet = fc.tuple(fc.integer({ min: 0, max: 2 ** 32 - 1 }), fc.integer({ min: 8, max: 32 }))
  const cidrOf = ([address, prefix]: readonly [number, number]) => {
    const size = 2n ** BigInt(32 - prefix)
    return parseCidr(`${formatIp(4, (BigInt(address) / size) * size)}/${prefix}`, 'cidr')
  }

  fc.assert(
    fc.property(subnet, subnet, (one, two) => {
      const [a, b] = [cidrOf(one), cidrOf(two)]
      const startsIn =
        contains(a, { version: 4, value: b.first }) || contains(b, { version: 4, value: a.first })
      expect(overlaps(a, b)).toBe(startsIn)
    }),
  )
})
