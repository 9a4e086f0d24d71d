import { expect, test } from 'vitest'
import { linksSource } from './links.ts'
import { trustedProxies } from './trusted-proxies.ts'

const PROXY = '10.0.0.1'
const FORWARDED = {
  host: 'inner:8774',
  'x-forwarded-host': 'cloud.example, inner',
  'x-forwarded-proto': 'https',
  'x-forwarded-prefix': '/openstack/',
}

function rootFor(
  headers: Readonly<Record<string, string>>,
  peerAddress?: string,
  publicUrl?: string,
): string {
  const linksOf = linksSource(publicUrl, trustedProxies(['10.0.0.0/8', '::1']))
  return linksOf({ header: (name) => headers[name], peerAddress }).root
}

test.each([
  ['the Host header', { host: 'cloud.test:8774' }, undefined, undefined, 'http://cloud.test:8774'],
  ['an IPv6 host', { host: '[::1]:80' }, undefined, undefined, 'http://[::1]:80'],
  ['the public URL', { host: 'x' }, undefined, 'https://c.example/os/', 'https://c.example/os'],
  ['a trusted proxy', FORWARDED, PROXY, undefined, 'https://cloud.example/openstack'],
  [
    'one seen through IPv6',
    FORWARDED,
    `::ffff:${PROXY}`,
    undefined,
    'https://cloud.example/openstack',
  ],
  ['anyone else', FORWARDED, '192.0.2.1', undefined, 'http://inner:8774'],
  ['nobody known', FORWARDED, undefined, undefined, 'http://inner:8774'],
  ['a forged host', { host: 'a/b"><script>' }, undefined, undefined, 'http://localhost'],
  [
    'a proxy with a forged prefix',
    { ...FORWARDED, 'x-forwarded-prefix': '/a?b#c' },
    PROXY,
    undefined,
    'https://cloud.example',
  ],
])('links follow %s', (_name, headers, peer, publicUrl, expected) => {
  expect(rootFor(headers as Record<string, string>, peer, publicUrl)).toBe(expected)
})

test('a proxy that is not an address is refused by name', () => {
  expect(() => trustedProxies(['proxy.example'])).toThrow("'proxy.example'")
})
