import { expect, test } from 'vitest'
import { type RuleDraft, ruleOf } from './rule-of.ts'

const draft = (fields: Partial<RuleDraft>): RuleDraft => ({
  security_group_id: 'g',
  direction: 'ingress',
  ...fields,
})

test.each([
  [{}, { etherType: 'IPv4', protocol: null, remoteCidr: null }],
  [{ protocol: 'TCP' }, { protocol: 'tcp' }],
  [{ protocol: '6' }, { protocol: '6' }],
  [{ protocol: '112' }, { protocol: '112' }],
  [{ protocol: 'icmp', ethertype: 'IPv6' }, { protocol: 'ipv6-icmp' }],
  [{ protocol: 'icmpv6', ethertype: 'IPv6' }, { protocol: 'ipv6-icmp' }],
  [{ protocol: '1', ethertype: 'IPv6' }, { protocol: '58' }],
  [{ protocol: '200' }, { protocol: '200' }],
  [{ protocol: 'any' }, { protocol: null }],
  [{ remote_ip_prefix: '10.1.2.3' }, { remoteCidr: '10.1.2.3/32' }],
  [{ remote_ip_prefix: '10.1.2.3/8' }, { remoteCidr: '10.1.2.3/8' }],
  [{ remote_ip_prefix: 'FD00::1/64', ethertype: 'IPv6' }, { remoteCidr: 'fd00::1/64' }],
  [{ remote_ip_prefix: '' }, { remoteCidr: null }],
  [
    { protocol: 'icmp', port_range_min: 8 },
    { portMin: 8, portMax: null },
  ],
  [
    { protocol: 'udp', port_range_min: 53, port_range_max: 53 },
    { portMin: 53, portMax: 53 },
  ],
] as const)('%j is read as %j', (fields, parts) => {
  expect(ruleOf(draft(fields))).toMatchObject(parts)
})

test.each([
  [{ protocol: '256' }, 'not supported'],
  [{ protocol: 'ipv6-icmp' }, 'Invalid ethertype IPv4 for protocol ipv6-icmp.'],
  [{ protocol: '44', ethertype: 'IPv4' }, 'Invalid ethertype IPv4 for protocol 44.'],
  [{ protocol: 'toString' }, 'not supported'],
  [{ port_range_min: 1, port_range_max: 2 }, 'protocol'],
  [{ protocol: 'gre', port_range_min: 1, port_range_max: 2 }, 'protocol'],
  [{ protocol: 'tcp', port_range_min: 0, port_range_max: 2 }, 'port_range_min'],
  [{ protocol: 'tcp', port_range_min: 1, port_range_max: 65_536 }, '65535'],
  [{ protocol: 'icmp', port_range_min: 300 }, 'ICMP'],
  [{ remote_ip_prefix: '10.0.0.0/' }, 'not a valid CIDR'],
  [{ remote_ip_prefix: '10.0.0.0/8', remote_group_id: 'g' }, 'Only remote_ip_prefix'],
] as const)('%j is refused', (fields, text) => {
  expect(() => ruleOf(draft(fields))).toThrow(text)
})
