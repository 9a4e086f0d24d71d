import { expect, test } from 'vitest'
import { FILTER_SETTINGS, hostState, placementRequest } from '../testing.ts'
import { simpleCidrAffinityFilter } from './cidr-affinity.ts'

const refusal = (address: string | null, hints: Record<string, readonly string[]>) =>
  simpleCidrAffinityFilter.refuse(
    hostState('a', { address }),
    placementRequest({ hints }),
    FILTER_SETTINGS,
  )
const near = (address: string, cidr?: string) => ({
  build_near_host_ip: [address],
  ...(cidr && { cidr: [cidr] }),
})

test('hosts within the range suit, others do not', () => {
  expect(refusal('192.0.2.77', near('192.0.2.1'))).toBeUndefined()
  expect(refusal('192.0.3.77', near('192.0.2.1'))).toBe(
    'has the address 192.0.3.77, outside 192.0.2.1/24',
  )
  expect(refusal('192.0.3.77', near('192.0.2.1', '/23'))).toBeUndefined()
  expect(refusal('2001:db8::5', near('2001:db8::1', '/64'))).toBeUndefined()
  expect(refusal('2001:db8::5', near('192.0.2.1'))).toContain('outside')
  expect(refusal(null, near('192.0.2.1'))).toBe('does not report its address')
})

test('no address in the hints refuses no host, and one without a meaning is named', () => {
  expect(refusal(null, { cidr: ['/24'] })).toBeUndefined()
  expect(() => refusal('192.0.2.1', near('nowhere'))).toThrow('no range of addresses: nowhere/24')
  expect(() => refusal('192.0.2.1', near('192.0.2.1', '24'))).toThrow('no range of addresses')
})
