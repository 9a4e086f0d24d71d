import { expect, test } from 'vitest'
import { peerOf, trustedProxies } from './trusted-proxies.ts'

const isTrusted = trustedProxies(['10.0.0.0/8', '2001:db8:f::1'])

function peer(peerAddress: string | undefined, forwarded?: string): string {
  const header = (name: string) => (name === 'x-forwarded-for' ? forwarded : undefined)
  return peerOf({ peerAddress, header }, isTrusted)
}

test.each([
  [
    'a peer that is no proxy is itself, whatever it claims',
    '192.0.2.7',
    '198.51.100.1',
    '192.0.2.7',
  ],
  ['behind a proxy the one it names counts', '10.0.0.1', '192.0.2.7', '192.0.2.7'],
  [
    'what the caller itself claimed before does not',
    '10.0.0.1',
    '198.51.100.1, 192.0.2.7',
    '192.0.2.7',
  ],
  [
    'proxies behind proxies are passed over',
    '10.0.0.1',
    '192.0.2.7, 10.0.0.9 , 10.2.3.4',
    '192.0.2.7',
  ],
  ['proxies alone leave the nearest', '10.0.0.1', '10.0.0.9', '10.0.0.1'],
  ['an invalid address is ignored', '10.0.0.1', 'unknown', '10.0.0.1'],
  ['without a forwarded address the proxy is the peer', '10.0.0.1', undefined, '10.0.0.1'],
  ['an IPv4 address in IPv6 is that one', '::ffff:192.0.2.7', undefined, '192.0.2.7'],
  ['of IPv6 its network counts', '2001:db8:1:2:3:4:5:6', undefined, '2001:db8:1:2::/64'],
  ['of IPv6 behind a proxy, too', '2001:db8:f::1', '2001:db8:1:2::9', '2001:db8:1:2::/64'],
  ['inside the process there is none', undefined, undefined, ''],
])('%s', (_what, address, forwarded, expected) => {
  expect(peer(address, forwarded)).toBe(expected)
})
