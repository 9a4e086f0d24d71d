import { expect, test } from 'vitest'
import { freeBlock } from './free-block.ts'

test.each([
  ['nothing', '', '192.0.2.1'],
  ['other networks', 'default via 10.0.0.1 dev eth0\n10.0.0.0/8 dev eth0 scope link', '192.0.2.1'],
  ['the network around it', '192.0.2.0/24 dev eth0 proto kernel', '198.51.100.1'],
  ['an address in it', '192.0.2.2 dev eth0\n198.51.100.0/31 dev tun0', '198.18.0.1'],
])('a machine with routes to %s gets addresses that it does not use', (_what, routes, gateway) => {
  const block = freeBlock(routes)
  expect(block).toEqual({ gateway, machine: gateway.replace(/1$/, '2'), prefix: 30 })
})

test('a machine that uses all of them is told so', () => {
  const routes = ['192.0.0.0/16', '198.0.0.0/8', '169.254.0.0/16'].join('\n')
  expect(() => freeBlock(routes)).toThrow('--host-route needs one')
})
