import { expect, test } from 'vitest'
import { subnetBody } from './port-change.ts'

const fixed = { address: '', gateway: null, dhcp: true, dnsServers: [] }

test('subnetBody() has the routes of the subnet, and none where it has none', () => {
  const hostRoutes = [{ destination: '192.0.2.0/24', nexthop: '10.1.2.9' }]
  const subnet = { ...fixed, cidr: '10.1.2.0/24' }

  expect(subnetBody('network', 'name', { ...subnet, hostRoutes })).toMatchObject({
    host_routes: hostRoutes,
  })
  expect(subnetBody('network', 'name', subnet)).not.toHaveProperty('host_routes')
})

test.each([
  ['10.1.2.0/24', 4, [{ start: '10.1.2.252', end: '10.1.2.254' }]],
  ['10.1.2.0/30', 4, undefined],
  ['fd00::/64', 6, undefined],
])('subnetBody() of %s leaves the cloud few addresses to choose', (cidr, version, pools) => {
  const body = subnetBody('network', 'name', { ...fixed, cidr })

  expect(body).toMatchObject({ cidr, ip_version: version })
  expect('allocation_pools' in body ? body.allocation_pools : undefined).toEqual(pools)
})
