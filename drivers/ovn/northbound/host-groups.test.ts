import { expect, test } from 'vitest'
import { METADATA_PORT_OWNER } from '#openapi/wire/metadata-port.ts'
import type { WirePort } from '#openapi/wire/network.ts'
import {
  EMPTY_STATE,
  wireGroup,
  wireNetwork,
  wirePort,
  wireRule,
  wireSubnet,
} from '#test/env/network-state.ts'
import { columnsOf, inTable, refersTo } from './testing.ts'
import { wantedRows } from './wanted-rows.ts'

test('a port of a machine is external, with the living hosts that map its network, its own first', () => {
  const site = wireNetwork({ physicalNetwork: 'SITE' })
  const siteSubnet = wireSubnet(site, '192.0.2.0/24', { gateway: '192.0.2.1' })
  const [own, other, dead, elsewhere] = ['own', 'other', 'dead', 'elsewhere']
  const hosts = [other, own, dead, elsewhere].map((chassis) => ({
    chassis,
    encapAddress: '10.9.0.1',
    physicalNetworks: chassis === elsewhere ? ['OTHER'] : ['SITE'],
    isAlive: chassis !== dead,
  }))
  const group = wireGroup(wireRule())
  const machine = wirePort(siteSubnet, '192.0.2.7', {
    ...{ mac: '52:54:00:00:00:07', isMachine: true, hostId: own },
    securityGroupIds: [group.id],
  })
  const objects = { networks: [site], subnets: [siteSubnet], securityGroups: [group] }
  const rowsWith = (port: WirePort) =>
    wantedRows({ ...EMPTY_STATE, ...objects, ports: [port] }, hosts)
  const rows = rowsWith(machine)

  expect(columnsOf(rows, 'Logical_Switch_Port', machine.id)).toMatchObject({
    type: 'external',
    addresses: ['52:54:00:00:00:07 192.0.2.7'],
    port_security: [],
    options: { 'requested-tnl-key': String(machine.tunnelKey) },
  })
  expect(refersTo(rows, 'Logical_Switch_Port', machine.id, 'dhcpv4_options')).toHaveLength(1)
  const groups = refersTo(rows, 'Logical_Switch_Port', machine.id, 'ha_chassis_group')
  expect(groups).toEqual([site.id])
  const members = inTable(rows, 'HA_Chassis').map(({ columns }) => columns)
  expect(members).toMatchObject([
    { chassis_name: own, priority: 2 },
    { chassis_name: other, priority: 1 },
  ])
  expect(refersTo(rows, 'Port_Group', group.id, 'ports'), 'its address counts').toEqual([
    machine.id,
  ])
  expect(refersTo(rows, 'Port_Group', 'neutron_pg_drop', 'ports')).toEqual([])

  const metadata = wirePort(siteSubnet, '192.0.2.2', { deviceOwner: METADATA_PORT_OWNER })
  const withMetadata = { ...EMPTY_STATE, ...objects, ports: [machine, metadata] }
  const options = columnsOf(
    wantedRows(withMetadata, hosts),
    'DHCP_Options',
    `${siteSubnet.id}_${machine.id}`,
  )
  expect(options['options'], 'the service is on the link').toMatchObject({
    classless_static_route: '{169.254.169.254/32,0.0.0.0, 0.0.0.0/0,192.0.2.1}',
  })

  const remote = rowsWith({ ...machine, hostId: null, remoteHostId: other })
  expect(columnsOf(remote, 'Logical_Switch_Port', machine.id)['type']).toBe('remote')
  expect(refersTo(remote, 'Port_Group', 'neutron_pg_drop', 'ports')).toEqual([])
  expect(inTable(remote, 'HA_Chassis_Group')).toEqual([])
})
