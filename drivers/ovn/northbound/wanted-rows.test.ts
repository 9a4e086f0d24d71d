import { describe, expect, test } from 'vitest'
import { METADATA_PORT_OWNER } from '#openapi/wire/metadata-port.ts'
import type { NetworkState, WirePort, WireRule } from '#openapi/wire/network.ts'
import { madeState } from '#test/env/made-network-state.ts'
import {
  EMPTY_STATE,
  wireGroup,
  wireNetwork,
  wirePort,
  wireRule,
  wireSubnet,
} from '#test/env/network-state.ts'
import { type CellNetworks, type OvnHost, ROUTER_INTERFACE } from './network-index.ts'
import { isReferences, type WantedRow } from './rows.ts'
import { portGroupName } from './security-groups.ts'
import { columnsOf, host, inTable, refersTo } from './testing.ts'
import { wantedRows } from './wanted-rows.ts'

const network = wireNetwork({ mtu: 1442 })
const subnet = wireSubnet(network, '10.0.0.0/24', { gateway: '10.0.0.1' })
const port = wirePort(subnet, '10.0.0.5', { mac: 'fa:16:3e:00:00:05' })

function rowsOf(
  parts: Partial<CellNetworks>,
  hosts: readonly OvnHost[] = [],
): readonly WantedRow[] {
  const state = { ...EMPTY_STATE, networks: [network], subnets: [subnet], ...parts }
  return wantedRows(state, hosts)
}

describe('switches', () => {
  test('a network is a switch by Neutron’s name, with the tunnel key that is the same in every cell', () => {
    const rows = rowsOf({ ports: [port] })

    expect(columnsOf(rows, 'Logical_Switch', network.id)).toMatchObject({
      name: `neutron-${network.id}`,
      other_config: { 'requested-tnl-key': String(network.tunnelKey) },
      external_ids: { 'neutron:mtu': '1442', 'neutron:revision_number': '1' },
    })
    expect(refersTo(rows, 'Logical_Switch', network.id, 'ports')).toEqual([port.id])
  })

  test.each([
    [null, null],
    [7, 7],
  ])('a provider network with VLAN %s leaves OVN by a localnet port', (vlan, tag) => {
    const provider = { ...network, physicalNetwork: 'physnet', vlan }
    const rows = rowsOf({ networks: [provider] })

    expect(columnsOf(rows, 'Logical_Switch_Port', `provnet-${network.id}`)).toMatchObject({
      type: 'localnet',
      addresses: ['unknown'],
      options: { network_name: 'physnet' },
      tag,
    })
  })

  test('references to missing objects are left out', () => {
    const elsewhere = wirePort({ id: subnet.id, networkId: wireNetwork().id }, '10.0.0.9')
    const astray = wirePort({ id: wireNetwork().id, networkId: network.id }, '10.0.0.8')
    const rows = rowsOf({ ports: [elsewhere, astray] })

    expect(inTable(rows, 'Logical_Switch_Port').map(({ id }) => id)).toEqual([astray.id])
    expect(refersTo(rows, 'Logical_Switch_Port', astray.id, 'dhcpv4_options')).toEqual([])
    expect(rowsOf({ networks: [] }).map(({ table }) => table)).not.toContain('DHCP_Options')
  })
})

describe('ports', () => {
  const columns = (more: Partial<WirePort>) =>
    columnsOf(rowsOf({ ports: [{ ...port, ...more }] }), 'Logical_Switch_Port', port.id)
  const own = 'fa:16:3e:00:00:05 10.0.0.5'
  const pair = (mac: string | null, cidr: string) => ({ mac, cidr })

  test.each<[string, Partial<WirePort>, readonly string[], readonly string[]]>([
    ['with its own address', {}, [own], [own]],
    ['without addresses', { fixedIps: [] }, ['fa:16:3e:00:00:05'], ['fa:16:3e:00:00:05']],
    [
      'with a pair of its own MAC address',
      { allowedPairs: [pair(null, '10.0.0.64/26'), pair('fa:16:3e:00:00:05', '192.0.2.1')] },
      [own],
      [`${own} 10.0.0.64/26 192.0.2.1`],
    ],
    [
      'with pairs of another MAC address',
      {
        allowedPairs: [
          pair('fa:16:3e:00:00:99', '10.0.0.9'),
          pair('fa:16:3e:00:00:99', 'fd00::/64'),
        ],
      },
      [own, 'fa:16:3e:00:00:99'],
      [own, 'fa:16:3e:00:00:99 10.0.0.9 fd00::/64'],
    ],
    ['without port security', { hasPortSecurity: false }, [own, 'unknown'], []],
    [
      'that answers for metadata',
      { deviceOwner: METADATA_PORT_OWNER, hasPortSecurity: false },
      [own],
      [],
    ],
  ])('a port %s', (_, more, addresses, portSecurity) => {
    expect(columns(more)).toMatchObject({ addresses, port_security: portSecurity })
  })

  test('it has its key, its host, its type, and is off where it or its network is', () => {
    const key = { 'requested-tnl-key': String(port.tunnelKey) }
    const hostId = wireNetwork().id
    expect(columns({})).toMatchObject({ type: '', enabled: true, options: key })
    expect(columns({ hostId })['options']).toEqual({ ...key, 'requested-chassis': hostId })
    const destinations = new Map([[port.id, 'there']])
    const moving = rowsOf({ ports: [{ ...port, hostId }], destinations })
    expect(columnsOf(moving, 'Logical_Switch_Port', port.id)['options']).toEqual({
      ...key,
      'requested-chassis': `${hostId},there`,
      'activation-strategy': 'rarp',
    })
    const arrived = new Set([port.id])
    const there = rowsOf({ ports: [{ ...port, hostId }], destinations, arrived })
    expect(columnsOf(there, 'Logical_Switch_Port', port.id)['options']).toEqual({
      ...key,
      'requested-chassis': `there,${hostId}`,
    })
    expect(columns({ remoteHostId: hostId })).toMatchObject({
      type: 'remote',
      options: { ...key, 'requested-chassis': hostId },
    })
    expect(columns({ deviceOwner: METADATA_PORT_OWNER })['type']).toBe('localport')
    expect(columns({ isUp: false })['enabled']).toBe(false)
    const off = rowsOf({ networks: [{ ...network, isUp: false }], ports: [port] })
    expect(columnsOf(off, 'Logical_Switch_Port', port.id)['enabled']).toBe(false)
    const floating = rowsOf({ ports: [{ ...port, deviceOwner: 'network:floatingip' }] })
    expect(inTable(floating, 'Logical_Switch_Port')).toEqual([])
  })

  test('operators recognize it by the names that Neutron writes', () => {
    expect(
      columns({ name: 'a', revision: 4, securityGroupIds: ['g1', 'g2'] })['external_ids'],
    ).toEqual({
      'weir:id': port.id,
      'neutron:cidrs': '10.0.0.5/24',
      'neutron:device_id': port.deviceId,
      'neutron:device_owner': 'compute:nova',
      'neutron:network_name': `neutron-${network.id}`,
      'neutron:port_name': 'a',
      'neutron:project_id': port.projectId,
      'neutron:revision_number': '4',
      'neutron:security_group_ids': 'g1 g2',
    })
  })
})

describe('DHCP', () => {
  const optionsOf = (parts: Partial<NetworkState>, id = subnet.id) =>
    columnsOf(rowsOf(parts), 'DHCP_Options', id)['options'] as Record<string, string> | undefined

  test('a subnet has the DHCP options that its guests need, with the default route among its routes', () => {
    expect(optionsOf({})).toEqual({
      server_id: '10.0.0.1',
      server_mac: expect.stringMatching(/^fa:16:3e(:[0-9a-f]{2}){3}$/),
      lease_time: '43200',
      mtu: '1442',
      router: '10.0.0.1',
      dns_server: '{10.0.0.1}',
    })
    const metadata = { ...port, id: subnet.id, deviceOwner: METADATA_PORT_OWNER }
    const hostRoutes = [{ destination: '192.0.2.0/24', nexthop: '10.0.0.9' }]
    const full = { ...subnet, hostRoutes, dnsServers: ['192.0.2.53', '192.0.2.54'] }
    const named = { ...network, dnsDomain: 'a"b.example' }
    expect(optionsOf({ networks: [named], subnets: [full], ports: [metadata] })).toMatchObject({
      dns_server: '{192.0.2.53, 192.0.2.54}',
      domain_name: '"a\\"b.example"',
      classless_static_route:
        '{169.254.169.254/32,10.0.0.5, 192.0.2.0/24,10.0.0.9, 0.0.0.0/0,10.0.0.1}',
    })
  })

  test.each([
    ['without DHCP', { hasDhcp: false }],
    ['without an address for a server', { gateway: null }],
    ['of which guests make their addresses themselves', { cidr: 'fd00::/64', gateway: null }],
  ])('a subnet %s has no row, and its ports are not served', (_, more) => {
    const rows = rowsOf({ subnets: [{ ...subnet, ...more }], ports: [port] })

    expect(inTable(rows, 'DHCP_Options')).toEqual([])
    expect(refersTo(rows, 'Logical_Switch_Port', port.id, 'dhcpv4_options')).toEqual([])
    expect(refersTo(rows, 'Logical_Switch_Port', port.id, 'dhcpv6_options')).toEqual([])
  })

  test.each([
    ['slaac', undefined],
    ['dhcpv6-stateful', { server_id: expect.stringMatching(/^fa:16:3e:/) }],
    ['dhcpv6-stateless', { dhcpv6_stateless: 'true' }],
  ] as const)('IPv6 by %s', (ipv6AddressMode, options) => {
    const v6 = wireSubnet(network, 'fd00::/64', { ipv6AddressMode })
    const found = optionsOf({ subnets: [v6] }, v6.id)

    if (options === undefined) expect(found).toBeUndefined()
    else expect(found).toMatchObject(options)
  })

  test.each([
    ['lan', '"lan"'],
    ['six.example', undefined],
  ])('the domain %s is in the answers of DHCPv6 as %s', (dnsDomain, option) => {
    const v6 = wireSubnet(network, 'fd00::/64', { ipv6AddressMode: 'dhcpv6-stateful' })
    const found = optionsOf({ networks: [{ ...network, dnsDomain }], subnets: [v6] }, v6.id)

    expect(found?.['domain_search']).toBe(option)
  })

  test('the DHCP options of a port are in a row of their own; unknown names are left out', () => {
    const option = (name: string, value: string | null, version: 4 | 6 = 4) => ({
      name,
      value,
      version,
    })
    const dhcpOptions = [
      option('mtu', '1300'),
      option('bootfile-name', 'pxe.0'),
      option('67', '"quoted"'),
      option('tftp-server', null),
      option('no-such-option', 'x'),
      option('dns-server', 'fd00::53', 6),
    ]
    const rows = rowsOf({ ports: [{ ...port, dhcpOptions }] })
    const id = `${subnet.id}_${port.id}`

    expect(refersTo(rows, 'Logical_Switch_Port', port.id, 'dhcpv4_options')).toEqual([id])
    const { options } = columnsOf(rows, 'DHCP_Options', id)
    expect(options).toMatchObject({ mtu: '1300', bootfile_name: '"quoted"', router: '10.0.0.1' })
    expect(Object.keys(options as object)).not.toContain('no-such-option')
    expect(inTable(rows, 'DHCP_Options')).toHaveLength(2)

    const refused = [option('dhcp_disabled', 'true')]
    const none = rowsOf({ ports: [{ ...port, dhcpOptions: refused }] })
    expect(refersTo(none, 'Logical_Switch_Port', port.id, 'dhcpv4_options')).toEqual([])
  })
})

describe('names', () => {
  test('a port is found by its name, with and without the domain, and by its addresses', () => {
    const named = { ...network, dnsDomain: 'Example.org' }
    const fixedIps = [...port.fixedIps, { subnetId: subnet.id, address: 'fd00::5' }]
    const rows = rowsOf({ networks: [named], ports: [{ ...port, dnsName: 'Web', fixedIps }] })

    expect(columnsOf(rows, 'DNS', network.id)['records']).toEqual({
      web: '10.0.0.5 fd00::5',
      'web.example.org': '10.0.0.5 fd00::5',
      '5.0.0.10.in-addr.arpa': 'web.example.org',
      '5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.d.f.ip6.arpa': 'web.example.org',
    })
    expect(refersTo(rows, 'Logical_Switch', network.id, 'dns_records')).toEqual([network.id])
  })

  test('two ports of one name are both found, and a network without names has no row', () => {
    const twin = { ...wirePort(subnet, '10.0.0.6'), dnsName: 'web' }
    const rows = rowsOf({ ports: [{ ...port, dnsName: 'web' }, twin] })

    expect(columnsOf(rows, 'DNS', network.id)['records']).toMatchObject({
      web: '10.0.0.5 10.0.0.6',
    })
    expect(inTable(rowsOf({ ports: [port] }), 'DNS')).toEqual([])
  })
})

describe('security groups', () => {
  const other = wireGroup()
  const matchOf = (rule: Partial<WireRule>) => {
    const group = wireGroup(wireRule(rule))
    const rows = rowsOf({ securityGroups: [group, other] })
    const [acl] = inTable(rows, 'ACL').filter(({ id }) => id === group.rules[0]!.id)
    const match = acl === undefined ? 'none' : (acl.columns['match'] as string)
    return match.replaceAll(portGroupName(group.id), 'pg')
  }

  test.each<[Partial<WireRule>, string]>([
    [{}, 'outport == @pg && ip4'],
    [{ direction: 'egress', version: 6 }, 'inport == @pg && ip6'],
    [{ remoteCidr: '192.0.2.0/24' }, 'outport == @pg && ip4 && ip4.src == 192.0.2.0/24'],
    [{ remoteCidr: '0.0.0.0/0' }, 'outport == @pg && ip4'],
    [
      { direction: 'egress', version: 6, remoteCidr: 'fd00::/8' },
      'inport == @pg && ip6 && ip6.dst == fd00::/8',
    ],
    [{ version: 6, remoteCidr: '192.0.2.0/24' }, 'none'],
    [{ remoteGroupId: wireGroup().id }, 'none'],
    [
      { remoteGroupId: other.id },
      `outport == @pg && ip4 && ip4.src == $${portGroupName(other.id)}_ip4`,
    ],
    [{ protocol: 6 }, 'outport == @pg && ip4 && tcp'],
    [{ protocol: 6, portMin: 22, portMax: 22 }, 'outport == @pg && ip4 && tcp && tcp.dst == 22'],
    [
      { protocol: 17, portMin: 1, portMax: 9 },
      'outport == @pg && ip4 && udp && udp.dst >= 1 && udp.dst <= 9',
    ],
    [{ protocol: 132, portMin: 7 }, 'outport == @pg && ip4 && sctp && sctp.dst >= 7'],
    [{ protocol: 0, portMin: 0, portMax: 0 }, 'outport == @pg && ip4 && ip.proto == 0'],
    [{ protocol: 1 }, 'outport == @pg && ip4 && icmp4'],
    [{ protocol: 1, portMin: 0 }, 'outport == @pg && ip4 && icmp4 && icmp4.type == 0'],
    [
      { protocol: 1, portMin: 8, portMax: 0 },
      'outport == @pg && ip4 && icmp4 && icmp4.type == 8 && icmp4.code == 0',
    ],
    [{ protocol: 1, version: 6 }, 'outport == @pg && ip6 && icmp6'],
    [
      { protocol: 58, version: 6, portMin: 128 },
      'outport == @pg && ip6 && icmp6 && icmp6.type == 128',
    ],
    [{ protocol: 58 }, 'outport == @pg && ip4 && ip.proto == 58'],
    [{ protocol: 47 }, 'outport == @pg && ip4 && ip.proto == 47'],
  ])('%j', (rule, match) => {
    expect(matchOf(rule)).toBe(match)
  })

  test('filtered ports are members of their groups and of the one that drops the rest', () => {
    const group = wireGroup()
    const member = { ...port, securityGroupIds: [group.id] }
    const free = wirePort(subnet, '10.0.0.7', {
      hasPortSecurity: false,
      securityGroupIds: [group.id],
    })
    const routers = wirePort(subnet, '10.0.0.1', { deviceOwner: ROUTER_INTERFACE })
    const rows = rowsOf({ securityGroups: [group], ports: [member, free, routers] })

    expect(refersTo(rows, 'Port_Group', group.id, 'ports')).toEqual([port.id])
    expect(refersTo(rows, 'Port_Group', 'neutron_pg_drop', 'ports')).toEqual([port.id])
    expect(columnsOf(rows, 'Port_Group', group.id)['name']).toMatch(/^pg_[0-9a-f_]{36}$/)
    const drops = inTable(rows, 'ACL').map(({ columns }) => columns)
    expect(drops.filter(({ action }) => action === 'drop')).toEqual([
      expect.objectContaining({ direction: 'from-lport', priority: 1001 }),
      expect.objectContaining({ direction: 'to-lport', priority: 1001 }),
    ])
  })
})

test('every reference of made states has its row, and no two rows are one', () => {
  for (let seed = 1; seed <= 50; seed += 1) {
    const rows = wantedRows(madeState(seed), [host('one'), host('two')])
    const known = new Set(rows.map(({ table, id }) => `${table} ${id}`))
    const referred = rows
      .flatMap(({ columns }) => Object.values(columns))
      .flatMap((value) => (isReferences(value) ? value.refersTo : []))

    expect(known.size).toBe(rows.length)
    for (const { table, id } of referred) expect(known).toContain(`${table} ${id}`)
  }
})
