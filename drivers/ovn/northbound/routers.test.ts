import { describe, expect, test } from 'vitest'
import type { NetworkState, WireForwarding } from '#openapi/wire/network.ts'
import {
  EMPTY_STATE,
  wireFloatingIp,
  wireNetwork,
  wirePort,
  wireRouter,
  wireSubnet,
} from '#test/env/network-state.ts'
import { type OvnHost, ROUTER_GATEWAY, ROUTER_INTERFACE } from './network-index.ts'
import type { NorthboundTable, WantedRow } from './rows.ts'
import { columnsOf, host, inTable, refersTo } from './testing.ts'
import { wantedRows } from './wanted-rows.ts'

const network = wireNetwork({ mtu: 1442 })
const subnet = wireSubnet(network, '10.0.0.0/24', { gateway: '10.0.0.1' })
const port = wirePort(subnet, '10.0.0.5', { mac: 'fa:16:3e:00:00:05' })

function rowsOf(
  parts: Partial<NetworkState>,
  hosts: readonly OvnHost[] = [],
): readonly WantedRow[] {
  const state = { ...EMPTY_STATE, networks: [network], subnets: [subnet], ...parts }
  return wantedRows(state, hosts)
}

const ports = (
  externalFirst: number,
  externalLast: number,
  internalFirst: number,
  internalLast: number,
) => ({ externalFirst, externalLast, internalFirst, internalLast })

describe('routers', () => {
  const outside = wireNetwork({ isExternal: true, physicalNetwork: 'physnet' })
  const publicSubnet = wireSubnet(outside, '203.0.113.0/24', { gateway: '203.0.113.1' })
  const id = wireRouter().id
  const inside = wirePort(subnet, '10.0.0.1', { deviceId: id, deviceOwner: ROUTER_INTERFACE })
  const gateway = wirePort(publicSubnet, '203.0.113.10', {
    deviceId: id,
    deviceOwner: ROUTER_GATEWAY,
  })
  const router = wireRouter({ id, gateway: { portId: gateway.id, hasSnat: true } })
  const floating = wireFloatingIp({
    address: '203.0.113.20',
    networkId: outside.id,
    routerId: id,
    portId: port.id,
    fixedAddress: '10.0.0.5',
  })
  const all = {
    networks: [network, outside],
    subnets: [subnet, publicSubnet],
    ports: [port, inside, gateway],
    routers: [router],
    floatingIps: [floating],
  }
  const HOSTS = [host('one'), host('two')]
  const natOf = (parts: Partial<NetworkState>, hosts: readonly OvnHost[] = HOSTS) =>
    inTable(rowsOf({ ...all, ...parts }, hosts), 'NAT').map(({ columns }) => columns)

  test('its ports have both ends, and the prefix of their subnets', () => {
    const rows = rowsOf(all, HOSTS)

    expect(columnsOf(rows, 'Logical_Switch_Port', inside.id)).toMatchObject({
      type: 'router',
      addresses: ['router'],
      options: { 'router-port': `lrp-${inside.id}` },
    })
    expect(columnsOf(rows, 'Logical_Router_Port', inside.id)).toMatchObject({
      name: `lrp-${inside.id}`,
      mac: inside.mac,
      networks: ['10.0.0.1/24'],
    })
    expect(refersTo(rows, 'Logical_Router', id, 'ports')).toEqual([inside.id, gateway.id])
    expect(columnsOf(rows, 'Logical_Switch_Port', gateway.id)['options']).toMatchObject({
      'nat-addresses': 'router',
    })
  })

  test('by its gateway go the default route and the addresses of all subnets behind it', () => {
    const [route] = inTable(rowsOf(all, HOSTS), 'Logical_Router_Static_Route')
    expect(route?.columns).toMatchObject({
      ip_prefix: '0.0.0.0/0',
      nexthop: '203.0.113.1',
      output_port: `lrp-${gateway.id}`,
    })
    const snat = { type: 'snat', external_ip: '203.0.113.10', logical_ip: '10.0.0.0/24' }
    expect(natOf({ floatingIps: [] })).toEqual([expect.objectContaining(snat)])
    const silent = { ...router, gateway: { portId: gateway.id, hasSnat: false } }
    expect(natOf({ floatingIps: [], routers: [silent] })).toEqual([])
    expect(natOf({ routers: [{ ...router, gateway: null }] })).toEqual([])
    expect(natOf({ ports: [port, inside] }), 'its gateway port is not there yet').toEqual([])
  })

  test.each<[string, Partial<NetworkState>, readonly OvnHost[], boolean]>([
    ['every host reaches the external network', {}, HOSTS, true],
    ['one does not', {}, [host('one'), host('two', { physicalNetworks: [] })], false],
    [
      'the port is in another cell',
      { ports: [{ ...port, remoteHostId: id }, inside, gateway] },
      HOSTS,
      false,
    ],
  ])('where %s, the port’s own host answers for a floating IP or not', (_, parts, hosts, isOwn) => {
    const [, nat] = natOf(parts, hosts)

    expect(nat).toMatchObject({
      type: 'dnat_and_snat',
      external_ip: '203.0.113.20',
      logical_ip: '10.0.0.5',
      logical_port: isOwn ? port.id : null,
      external_mac: isOwn ? floating.mac : null,
    })
  })

  test('forwarded ports of floating IPs are load balancers of the router and its networks', () => {
    const floatingIpId = floating.id
    const to = { floatingIpId, floatingAddress: '203.0.113.21', address: '10.0.0.5' } as const
    const forwardings: WireForwarding[] = [
      { ...to, protocol: 'tcp', ...ports(2222, 2222, 22, 22) },
      { ...to, protocol: 'tcp', ...ports(80, 81, 8080, 8081) },
      { ...to, protocol: 'udp', ...ports(53, 54, 53, 53) },
    ]
    const rows = rowsOf({ ...all, routers: [{ ...router, forwardings }] }, HOSTS)

    const [tcp, udp] = ['tcp', 'udp'].map((protocol) => `pf-floatingip-${floatingIpId}-${protocol}`)
    expect(columnsOf(rows, 'Load_Balancer', tcp!)).toMatchObject({
      name: tcp,
      protocol: 'tcp',
      vips: {
        '203.0.113.21:2222': '10.0.0.5:22',
        '203.0.113.21:80': '10.0.0.5:8080',
        '203.0.113.21:81': '10.0.0.5:8081',
      },
    })
    expect(columnsOf(rows, 'Load_Balancer', udp!)).toMatchObject({
      protocol: 'udp',
      vips: { '203.0.113.21:53': '10.0.0.5:53', '203.0.113.21:54': '10.0.0.5:53' },
    })
    expect(refersTo(rows, 'Logical_Router', id, 'load_balancer')).toEqual([tcp, udp])
    expect(refersTo(rows, 'Logical_Switch', network.id, 'load_balancer')).toEqual([tcp, udp])
    expect(refersTo(rows, 'Logical_Switch', outside.id, 'load_balancer')).toEqual([])
    const inner = { ...router, gateway: null, forwardings }
    expect(inTable(rowsOf({ ...all, routers: [inner] }, HOSTS), 'Load_Balancer')).toEqual([])
  })

  test('its gateway is on living hosts that reach the external network, in an order of its own', () => {
    const many = Array.from({ length: 8 }, (_, nth) => host(`h${nth}`))
    const hostsOf = (hosts: readonly OvnHost[], routers = [router]) =>
      inTable(rowsOf({ ...all, routers }, hosts), 'Gateway_Chassis')
        .toSorted((a, b) => Number(b.columns['priority']) - Number(a.columns['priority']))
        .map(({ columns }) => columns['chassis_name'])

    const chosen = hostsOf(many)
    expect(chosen).toHaveLength(5)
    expect(hostsOf(many.toReversed())).toEqual(chosen)
    const without = many.map((each) =>
      each.chassis === chosen[0] ? { ...each, isAlive: false } : each,
    )
    expect(hostsOf(without).slice(0, 4)).toEqual(chosen.slice(1))
    expect(hostsOf([host('one', { physicalNetworks: ['other'] })])).toEqual([])
    expect(
      refersTo(rowsOf(all, HOSTS), 'Logical_Router_Port', gateway.id, 'gateway_chassis'),
    ).toHaveLength(2)
  })

  test('the host that answers for machines is the gateway of their routers', () => {
    const site = wireNetwork({ physicalNetwork: 'physnet', vlan: 7 })
    const siteSubnet = wireSubnet(site, '192.0.2.0/24', { gateway: '192.0.2.1' })
    const leg = wirePort(siteSubnet, '192.0.2.1', { deviceId: id, deviceOwner: ROUTER_INTERFACE })
    const machine = wirePort(siteSubnet, '192.0.2.7', { isMachine: true, hostId: 'h5' })
    const many = Array.from({ length: 8 }, (_, nth) => host(`h${nth}`))
    const parts = {
      ...all,
      networks: [...all.networks, site],
      subnets: [...all.subnets, siteSubnet],
      ports: [...all.ports, leg, machine],
      floatingIps: [{ ...floating, portId: machine.id, fixedAddress: '192.0.2.7' }],
    }
    const rows = rowsOf(parts, many)
    const order = (table: NorthboundTable) =>
      inTable(rows, table)
        .toSorted((a, b) => Number(b.columns['priority']) - Number(a.columns['priority']))
        .map(({ columns }) => columns['chassis_name'])

    expect(order('HA_Chassis')[0]).toBe('h5')
    expect(order('Gateway_Chassis')).toEqual(order('HA_Chassis'))
    const nat = inTable(rows, 'NAT').find(({ columns }) => columns['type'] === 'dnat_and_snat')
    expect(nat?.columns, 'no host has the port').toMatchObject({ logical_port: null })
  })

  test('it advertises IPv6 as the subnet requires, and has the routes of the user', () => {
    const v6 = wireSubnet(network, 'fd00::/64', {
      gateway: 'fd00::1',
      ipv6RaMode: 'dhcpv6-stateful',
    })
    const sixth = wirePort(v6, 'fd00::1', { deviceId: id, deviceOwner: ROUTER_INTERFACE })
    const routes = [{ destination: '198.51.100.0/24', nexthop: '10.0.0.9' }]
    const rows = rowsOf({
      ...all,
      subnets: [subnet, v6],
      ports: [inside, sixth],
      routers: [{ ...router, gateway: null, routes: [...routes, ...routes] }],
    })

    expect(columnsOf(rows, 'Logical_Router_Port', sixth.id)['ipv6_ra_configs']).toEqual({
      address_mode: 'dhcpv6_stateful',
      send_periodic: 'true',
      mtu: '1442',
      rdnss: 'fd00::1',
    })
    expect(columnsOf(rows, 'Logical_Router_Port', inside.id)['ipv6_ra_configs']).toEqual({})
    expect(
      inTable(rows, 'Logical_Router_Static_Route').map(({ columns }) => columns['ip_prefix']),
    ).toEqual(['198.51.100.0/24'])
  })

  test('a port whose subnets are not there yet waits for them: OVN has no router port without an address', () => {
    const rows = rowsOf({ ...all, subnets: [publicSubnet] }, HOSTS)

    expect(refersTo(rows, 'Logical_Router', id, 'ports')).toEqual([gateway.id])
  })
})
