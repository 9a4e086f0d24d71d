import { describe, expect, test } from 'vitest'
import { type CellId, type HostId, isUuid, newId } from '#common/ids.ts'
import type { NicSpec } from '../../driver.ts'
import { attributeAt, elementsAt, parseXml } from '../xml/parse.ts'
import { networkName, networkUuid } from './network-name.ts'
import { dhcpAddress, networkXml } from './network-xml.ts'

const owner = { cellId: newId<CellId>(), hostId: newId<HostId>() }
const v4 = {
  address: '10.0.0.5',
  cidr: '10.0.0.0/24',
  gateway: '10.0.0.1',
  dhcp: true,
  dnsServers: [],
}
const nic = (...fixedIps: NicSpec['fixedIps']): NicSpec => ({
  portId: newId(),
  networkId: newId(),
  macAddress: 'fa:16:3e:00:00:01',
  mtu: 1450,
  fixedIps,
})

describe('networkXml()', () => {
  const ips = (...fixedIps: NicSpec['fixedIps']) =>
    elementsAt(parseXml(networkXml(owner, nic(...fixedIps))), 'network', 'ip')

  test('the host has the gateway address, and forwards nothing', () => {
    const tree = parseXml(networkXml(owner, nic(v4)))

    expect(attributeAt(tree, 'address', 'network', 'ip')).toBe('10.0.0.1')
    expect(attributeAt(tree, 'prefix', 'network', 'ip')).toBe('24')
    expect(elementsAt(tree, 'network', 'forward')).toEqual([])
    expect(attributeAt(tree, 'enable', 'network', 'dns')).toBe('no')
  })

  test('subnets without a gateway and IPv6 ones are left to the config drive', () => {
    const v6 = { ...v4, address: 'fd00::5', cidr: 'fd00::/64', gateway: 'fd00::1' }

    expect(ips()).toEqual([])
    expect(ips(v6, { ...v4, gateway: null })).toEqual([])
  })

  test('the subnet with DHCP comes first, because libvirt serves one', () => {
    const still = {
      ...v4,
      address: '10.1.0.5',
      cidr: '10.1.0.0/24',
      gateway: '10.1.0.1',
      dhcp: false,
    }

    expect(ips(still, v4).map((ip) => attributeAt(ip, 'address'))).toEqual(['10.0.0.1', '10.1.0.1'])
    expect(dhcpAddress(nic(still, v4))).toEqual(v4)
    expect(dhcpAddress(nic(still))).toBeUndefined()
  })

  test('only addresses become options of dnsmasq', () => {
    const optionsOf = (more: Partial<NicSpec['fixedIps'][number]>) =>
      elementsAt(
        parseXml(networkXml(owner, nic({ ...v4, ...more }))),
        'network',
        'options',
        'option',
      ).map((option) => attributeAt(option, 'value'))
    const options = (dnsServers: string[]) => optionsOf({ dnsServers })

    const range = 'dhcp-range=10.0.0.0,static,255.255.255.0'
    expect(options(['192.0.2.1', 'evil\nconf-file=/etc/passwd', '192.0.2.2'])).toEqual([
      'dhcp-option=option:dns-server,192.0.2.1,192.0.2.2',
      range,
    ])
    expect(options(['nonsense'])).toEqual([range])
    const route = (destination: string, nexthop: string) => ({ destination, nexthop })
    const wrong = [
      route('192.0.2.0/24\nconf-file=/etc/passwd', '10.0.0.9'),
      route('::/0', 'fd00::1'),
    ]
    expect(
      optionsOf({
        hostRoutes: [
          ...wrong,
          route('192.0.2.0/24', '10.0.0.9'),
          route('198.51.100.0/24', '10.0.0.8'),
        ],
      }),
    ).toEqual([
      'dhcp-option=option:classless-static-route,192.0.2.0/24,10.0.0.9,198.51.100.0/24,10.0.0.8',
      range,
    ])
    expect(optionsOf({ hostRoutes: wrong })).toEqual([range])
  })

  test('where another network has its addresses, the host holds only the gateway’s', () => {
    const tree = parseXml(networkXml(owner, nic(v4), true))

    expect(attributeAt(tree, 'address', 'network', 'ip')).toBe('10.0.0.1')
    expect(attributeAt(tree, 'prefix', 'network', 'ip')).toBe('32')
  })
})

describe('networkName()', () => {
  test('it fits a bridge, and differs by cell, host and network', () => {
    const { networkId } = nic()
    const names = [
      networkName(owner, networkId),
      networkName(owner, newId()),
      networkName({ ...owner, hostId: newId() }, networkId),
      networkName({ ...owner, cellId: newId() }, networkId),
    ]

    expect(new Set(names).size).toBe(4)
    expect(names.every((name) => /^wr-[0-9a-f]{12}$/.test(name))).toBe(true)
    expect(isUuid(networkUuid(owner, networkId))).toBe(true)
  })
})
