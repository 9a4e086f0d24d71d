import { expect, test } from 'vitest'
import { addressClashes } from './address-clashes.ts'

const theirs = (name: string, ...cidrs: string[]) => ({ name, called: `${name}-there`, cidrs })
const ours = (physicalNetwork: string | null, ...cidrs: string[]) => ({
  ...{ name: 'outside', physicalNetwork, cidrs },
})
const other = (name: string, ...cidrs: string[]) => ({ host: 'lab-1 of cell lab', name, cidrs })
const plan = { theirs: [], tenants: [], ours: [], others: [] }

test.each([
  [
    'the same network with the same subnet',
    { theirs: [theirs('public', '203.0.113.0/24')], ours: [ours('public', '203.0.113.0/24')] },
  ],
  [
    'the same network with a part of the subnet',
    { theirs: [theirs('public', '203.0.113.0/24')], ours: [ours('public', '203.0.113.0/26')] },
  ],
  [
    'the same network, whose subnets are not shown',
    { theirs: [theirs('public')], ours: [ours('public', '203.0.113.0/24')] },
  ],
  [
    'other networks with other addresses',
    {
      theirs: [theirs('public', '203.0.113.0/24')],
      tenants: [{ name: 'lan', cidrs: ['10.0.0.0/24'] }],
      ours: [ours('site', '198.51.100.0/24')],
      others: [other('far', '192.0.2.0/24', '2001:db8::/64')],
    },
  ],
])('%s is no clash', (_what, found) => {
  expect(addressClashes({ ...plan, ...found })).toEqual([])
})

test.each([
  [
    'an external network there with addresses of another here',
    { theirs: [theirs('public', '203.0.113.0/24')], ours: [ours('site', '203.0.113.128/25')] },
    /public-there there has 203\.0\.113\.0\/24, which overlaps 203\.0\.113\.128\/25 of external network outside here.*--set external_networks=site=public-there/,
  ],
  [
    'an external network here without a physical network',
    { theirs: [theirs('public', '203.0.113.0/24')], ours: [ours(null, '203.0.113.0/24')] },
    /create it here on a physical network that external_networks maps/,
  ],
  [
    'the same network with a subnet of its own here',
    { theirs: [theirs('public', '203.0.113.0/25')], ours: [ours('public', '203.0.113.0/24')] },
    /outside here has 203\.0\.113\.0\/24, which is not within 203\.0\.113\.0\/25 of external network public-there/,
  ],
  [
    'guests there with addresses of the outside here',
    {
      tenants: [{ name: 'lan', cidrs: ['203.0.0.0/16'] }],
      ours: [ours('public', '203.0.113.0/24')],
    },
    /Network lan there has 203\.0\.0\.0\/16, which overlaps 203\.0\.113\.0\/24 of external network outside here/,
  ],
  [
    'one name with the same addresses in two clouds',
    { theirs: [theirs('public', '203.0.113.0/24')], others: [other('public', '203.0.113.0/24')] },
    /public-there there has 203\.0\.113\.0\/24, and physical network public of host lab-1 of cell lab has 203\.0\.113\.0\/24: the same addresses in two clouds.*external_networks=OTHER=public-there/,
  ],
  [
    'two names with the same addresses in two clouds',
    { theirs: [theirs('public', '203.0.113.0/24')], others: [other('site', '203.0.113.0/24')] },
    /give it one name: --set external_networks=site=public-there/,
  ],
  [
    'one name for two networks',
    { theirs: [theirs('public', '203.0.113.0/24')], others: [other('public', '198.51.100.0/24')] },
    /has 203\.0\.113\.0\/24, and physical network public of host lab-1 of cell lab has 198\.51\.100\.0\/24: they are not one network/,
  ],
])('%s is a clash, with both ranges and what to do', (_what, found, message) => {
  expect(addressClashes({ ...plan, ...found })).toEqual([expect.stringMatching(message)])
})
