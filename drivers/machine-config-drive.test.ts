import { expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import type { NicSpec } from './driver.ts'
import { machineConfigDrive } from './machine-config-drive.ts'
import { inOrder } from './machine-nics.ts'

const nic = (nth: number, address: string, dhcp: boolean): NicSpec => ({
  portId: newId(),
  networkId: newId(),
  macAddress: `fa:16:3e:00:00:0${nth}`,
  mtu: 1500,
  fixedIps: [
    {
      ...{ address, cidr: '10.0.0.0/20', gateway: '10.0.0.1', dhcp, dnsServers: [] },
      hostRoutes: [{ destination: '192.0.2.0/24', nexthop: '10.0.0.9' }],
    },
  ],
})
const nics = [nic(1, '10.0.0.5', true), nic(2, '10.0.0.6', false)]
const ports = nics.map(({ portId }) => portId)
const json = (value: object) => Buffer.from(JSON.stringify(value))
const network = { id: 'network0-0', link: 'tap0', network_id: 'n', type: 'ipv4_dhcp' }
const still = { id: 'network1-0', link: 'tap1', type: 'ipv4', ip_address: '10.0.0.6' }
const configDrive = {
  'openstack/latest/network_data.json': json({
    links: nics.map(({ portId, macAddress }, nth) => ({
      id: `tap${nth}`,
      vif_id: portId,
      type: 'bridge',
      ethernet_mac_address: macAddress,
    })),
    networks: [network, still],
    services: [],
  }),
  'openstack/latest/meta_data.json': json({ uuid: 'u', devices: [{ mac: nics[1]!.macAddress }] }),
  'openstack/latest/user_data': Buffer.from('#!/bin/sh'),
}

test('a guest on a machine is given the machine’s NICs, and addresses that no DHCP serves', () => {
  const given = inOrder(ports, ['52:54:00:00:00:01', '52:54:00:00:00:02'])
  const files = machineConfigDrive({ configDrive, nics }, given)

  const read = (name: string) => JSON.parse(Buffer.from(files[name]!).toString()) as object
  expect(read('openstack/latest/network_data.json')).toEqual({
    links: [
      {
        id: 'tap0',
        vif_id: nics[0]!.portId,
        type: 'phy',
        ethernet_mac_address: '52:54:00:00:00:01',
      },
      {
        id: 'tap1',
        vif_id: nics[1]!.portId,
        type: 'phy',
        ethernet_mac_address: '52:54:00:00:00:02',
      },
    ],
    networks: [
      {
        ...network,
        type: 'ipv4',
        ip_address: '10.0.0.5',
        netmask: '255.255.240.0',
        routes: [
          { network: '0.0.0.0', netmask: '0.0.0.0', gateway: '10.0.0.1' },
          { network: '192.0.2.0', netmask: '255.255.255.0', gateway: '10.0.0.9' },
        ],
      },
      still,
    ],
    services: [],
  })
  expect(read('openstack/latest/meta_data.json')).toMatchObject({
    devices: [{ mac: '52:54:00:00:00:02' }],
  })
  expect(files['openstack/latest/user_data']).toBe(configDrive['openstack/latest/user_data'])
})

test('a machine with fewer NICs than the server has ports is refused', () => {
  expect(() => inOrder(ports, ['52:54:00:00:00:01'])).toThrow(/2 ports/)
})
