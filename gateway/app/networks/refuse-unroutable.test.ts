import { expect, test } from 'vitest'
import { refuseUnroutable } from './refuse-unroutable.ts'

const host = {
  ...{ id: 'h', cellId: 'c', name: 'lab-1', problem: null },
  externalNetworks: [
    { name: 'public', cidrs: ['203.0.113.0/24', '2001:db8::/64'] },
    { name: 'hidden', cidrs: [] },
  ],
}
const on = (physicalNetwork: string | null, vlanId = 0) => ({
  ...{ name: 'outside', physicalNetwork, vlanId },
})

test.each([
  ['in one of the subnets', host, on('public'), '203.0.113.9'],
  ['in a network whose subnets are not shown', host, on('hidden'), '192.0.2.9'],
  [
    'of the only network',
    { ...host, externalNetworks: [host.externalNetworks[0]!] },
    on(null),
    '203.0.113.9',
  ],
  [
    'on a host that has not said what it has',
    { ...host, externalNetworks: [] },
    on('public'),
    '192.0.2.9',
  ],
])('an address %s is taken', (_what, of, network, address) => {
  expect(() => refuseUnroutable(of, network, address)).not.toThrow()
})

test.each([
  [
    'the network is a VLAN there, and the host maps only the untagged network',
    host,
    on('public', 7),
    '203.0.113.9',
    /physical network public:7 of network outside/,
  ],
  [
    'the cloud has no routers',
    { ...host, problem: 'It has no routers.' },
    on('public'),
    '203.0.113.9',
    /lab-1: It has no routers/,
  ],
  [
    'the network is none there',
    host,
    on('other'),
    '203.0.113.9',
    /physical network other of network outside. It has: public, hidden/,
  ],
  [
    'it could be of several',
    host,
    on(null),
    '203.0.113.9',
    /several external networks \(public, hidden\)/,
  ],
  [
    'it is outside the subnets',
    host,
    on('public'),
    '192.0.2.9',
    /outside the subnets .* public .*203.0.113.0\/24, 2001:db8::\/64/,
  ],
])('an address is refused when %s', (_what, of, network, address, why) => {
  expect(() => refuseUnroutable(of, network, address)).toThrow(why)
})
