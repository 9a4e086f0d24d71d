import { describe, expect, test } from 'vitest'
import type { NetworkId, PortId } from '#common/ids.ts'
import type { NicSpec } from '../../driver.ts'
import type { FilterRule } from '../../firewall.ts'
import { isBeyondLibvirt, filterXml as render } from './filter-xml.ts'

const PORT = '5a3e0b7e-1111-4222-8333-444455556666' as PortId
const nic: NicSpec = {
  portId: PORT,
  networkId: '5a3e0b7e-1111-4222-8333-444455557777' as NetworkId,
  macAddress: 'fa:16:3e:00:00:01',
  mtu: 1500,
  fixedIps: [
    { address: '10.1.0.5', cidr: '10.1.0.0/24', gateway: '10.1.0.1', dhcp: true, dnsServers: [] },
  ],
}
/** With quotes that need no escaping here. */
const filterXml = (rules: readonly FilterRule[] | null) => render(nic, rules).replaceAll('"', "'")

const any: FilterRule = {
  direction: 'ingress',
  version: 4,
  protocol: null,
  portMin: null,
  portMax: null,
  remotes: null,
}

describe('the filter of a port', () => {
  test('lets everything through without port security', () => {
    expect(filterXml(null)).not.toContain('<rule')
  })

  test('without rules passes only packets from its own addresses, and inbound only what every port needs', () => {
    const xml = filterXml([])
    expect(xml).toContain(`name='weir-port-${PORT}'`)
    expect(xml).toContain("<mac match='no' srcmacaddr='fa:16:3e:00:00:01'>")
    expect(xml).toContain("<ip srcipaddr='10.1.0.5'>")
    expect(xml).not.toContain('<tcp')
    expect(xml).toMatch(/action='drop' direction='inout'[^>]*><all>/)
  })

  test.each<[string, Partial<FilterRule>, string]>([
    ['ports', { protocol: 6, portMin: 80, portMax: 90 }, "<tcp dstportstart='80' dstportend='90'>"],
    ['a type of ICMP', { protocol: 1, portMin: 8 }, "<icmp type='8'>"],
    ['IPv6', { version: 6, protocol: 17, portMin: 53, portMax: 53 }, '<udp-ipv6 '],
    ['a network', { remotes: ['10.2.0.0/16'] }, "<all srcipaddr='10.2.0.0' srcipmask='16'>"],
    [
      'egress to a remote address',
      { direction: 'egress', remotes: ['10.2.0.7/32'] },
      "<all dstipaddr='10.2.0.7' dstipmask='32'>",
    ],
  ])('lets %s through', (_what, change, expected) => {
    expect(filterXml([{ ...any, ...change }])).toContain(expected)
  })

  test('stays shut for a group without members, and for protocols that libvirt cannot filter', () => {
    const closed = filterXml([])
    expect(filterXml([{ ...any, remotes: [] }])).toBe(closed)
    expect(filterXml([{ ...any, protocol: 47 }])).toBe(closed)
    expect(isBeyondLibvirt({ ...any, protocol: 47 })).toBe(true)
  })
})
