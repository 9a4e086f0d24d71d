import { expect, test } from 'vitest'
import { isPublicAddress } from './public-address.ts'

test.each([
  '127.0.0.1',
  '10.1.2.3',
  '169.254.169.254',
  '100.64.0.1',
  '::1',
  '::127.0.0.2',
  '::a00:1',
  '::ffff:127.0.0.1',
  '::ffff:0:127.0.0.1',
  '64:ff9b::7f00:1',
  '64:ff9b:1::7f00:1',
  '2002:7f00:1::',
  '2001:0:4136:e378:8000:63bf:80ff:fffe',
  '2001:db8::1',
  '2a00:1450::5efe:7f00:1',
  '2a00:1450::200:5efe:7f00:1',
  'fc00::1',
  'fe80::1',
  'fec0::1',
  'ff02::1',
])('%s is not public', (address) => {
  expect(isPublicAddress(address)).toBe(false)
})

test.each(['8.8.8.8', '2a00:1450:4001:82a::200e', '::ffff:8.8.8.8'])('%s is', (address) => {
  expect(isPublicAddress(address)).toBe(true)
})

test('addresses that an operator allows are accepted, within the same family', () => {
  expect(isPublicAddress('10.1.2.3', ['10.0.0.0/8'])).toBe(true)
  expect(isPublicAddress('::a01:203', ['10.0.0.0/8'])).toBe(false)
})
