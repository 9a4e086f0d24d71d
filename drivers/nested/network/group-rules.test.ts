import { describe, expect, test } from 'vitest'
import type { FilterRule } from '../../firewall.ts'
import { type CloudRule, ruleBodies, rulesToChange } from './group-rules.ts'

const ANY: FilterRule = {
  direction: 'ingress',
  version: 4,
  protocol: null,
  portMin: null,
  portMax: null,
  remotes: null,
}
const bodies = (...rules: readonly FilterRule[]) =>
  ruleBodies('below', rules, new Map([['friends', 'friends-below']]))
const there = (rule: FilterRule, change: Partial<CloudRule> = {}): CloudRule => {
  return { id: 'rule', ...bodies(rule)[0]!, ...change }
}

describe('ruleBodies()', () => {
  test('names the group below for members of a group, and each network for networks', () => {
    const friends = { ...ANY, remotes: ['10.0.0.5/32'], remoteGroupId: 'friends' }
    const web = { ...ANY, protocol: 6, portMin: 80, portMax: 81, remotes: ['a', 'b'] }

    expect(bodies(friends, web)).toMatchObject([
      { remote_group_id: 'friends-below', remote_ip_prefix: null, protocol: null },
      { remote_group_id: null, remote_ip_prefix: 'a', protocol: '6', port_range_min: 80 },
      { remote_group_id: null, remote_ip_prefix: 'b', protocol: '6', port_range_max: 81 },
    ])
  })
})

describe('rulesToChange()', () => {
  const tcp = { ...ANY, protocol: 6 }

  test.each([
    ['a protocol by name', tcp, { protocol: 'tcp' }],
    ['a protocol by number', tcp, { protocol: 6 }],
    ['every address by a prefix', ANY, { remote_ip_prefix: '0.0.0.0/0' }],
  ])('knows a rule that the cloud shows with %s', (_what, rule, change) => {
    expect(rulesToChange([there(rule, change)], bodies(rule))).toEqual({ missing: [], excess: [] })
  })

  test('adds missing rules and removes surplus ones', () => {
    const udp = { ...ANY, protocol: 17 }

    const { missing, excess } = rulesToChange([there(tcp)], bodies(udp))

    expect(missing).toEqual(bodies(udp))
    expect(excess).toEqual([there(tcp)])
  })
})
