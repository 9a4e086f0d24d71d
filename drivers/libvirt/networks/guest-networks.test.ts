import { expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import type { NicSpec } from '../../driver.ts'
import { libvirtSettings } from '../settings.ts'
import { renderXml } from '../xml/element.ts'
import { attributeAt, elementsAt, parseXml } from '../xml/parse.ts'
import { OvnNetworks } from './guest-networks.ts'

const nic: NicSpec = {
  portId: newId(),
  networkId: newId(),
  macAddress: 'fa:16:3e:00:00:01',
  mtu: 1442,
  fixedIps: [],
}

test('a NIC of OVN is a port of the integration bridge that bears the UUID of its port', () => {
  const tree = parseXml(renderXml(new OvnNetworks('system').interfaceOf(nic)))

  expect(attributeAt(tree, 'type', 'interface')).toBe('bridge')
  expect(attributeAt(tree, 'bridge', 'interface', 'source')).toBe('br-int')
  expect(attributeAt(tree, 'type', 'interface', 'virtualport')).toBe('openvswitch')
  expect(attributeAt(tree, 'interfaceid', 'interface', 'virtualport', 'parameters')).toBe(
    nic.portId,
  )
  expect(attributeAt(tree, 'address', 'interface', 'mac')).toBe('fa:16:3e:00:00:01')
  expect(attributeAt(tree, 'size', 'interface', 'mtu')).toBe('1442')
  expect(elementsAt(tree, 'interface', 'filterref')).toEqual([])
  expect(elementsAt(tree, 'interface', 'driver')).toEqual([])
})

test('its guest computes checksums itself where the datapath is in userspace', () => {
  const tree = parseXml(renderXml(new OvnNetworks('netdev').interfaceOf(nic)))

  for (const side of ['host', 'guest']) {
    expect(attributeAt(tree, 'csum', 'interface', 'driver', side)).toBe('off')
    expect(attributeAt(tree, 'tso4', 'interface', 'driver', side)).toBe('off')
  }
})

test('a host is on bridges of its own unless its settings say ovn', () => {
  expect(libvirtSettings({})).toMatchObject({ network: 'host', ovsDatapath: 'system' })
  expect(libvirtSettings({ network: 'ovn', ovs_datapath: 'netdev' })).toMatchObject({
    network: 'ovn',
    ovsDatapath: 'netdev',
  })
  expect(() => libvirtSettings({ network: 'neutron' })).toThrow(/network.*host.*ovn/i)
  expect(() => libvirtSettings({ network: 'ovn', ovs_datapath: 'dpdk' })).toThrow(/ovs_datapath/i)
})
