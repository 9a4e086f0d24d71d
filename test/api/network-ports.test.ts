import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { textOf } from './json.ts'
import { idOf, type NetworkApi, networkApi } from './network-api.ts'

let api: NetworkApi

beforeAll(async () => {
  api = await networkApi()
})

afterAll(async () => {
  await api?.[Symbol.asyncDispose]()
})

describe('a port', () => {
  test('has a MAC, an address and the default group', async () => {
    const made = await api.networkWithSubnet()
    const port = await api.make(api.demo, 'ports', { network_id: idOf(made), name: 'p' })
    const groups = await api.list(api.demo, 'security-groups', 'name=default')

    expect(port).toMatchObject({
      status: 'DOWN',
      device_id: '',
      mac_address: expect.stringMatching(/^fa:16:3e(:[0-9a-f]{2}){3}$/),
      security_groups: groups.map(idOf),
      fixed_ips: [{ subnet_id: expect.any(String), ip_address: expect.stringMatching(/^10\./) }],
    })
    expect(port).not.toHaveProperty('binding:host_id')
  })

  test('keeps addresses that a change requests again', async () => {
    const made = await api.network()
    const onIt = await api.subnet(idOf(made))
    const prefix = textOf(onIt['cidr']).replace('.0/24', '')
    const at = (last: number) => ({ subnet_id: idOf(onIt), ip_address: `${prefix}.${last}` })
    const port = await api.make(api.demo, 'ports', { network_id: idOf(made), fixed_ips: [at(10)] })

    const changed = await api.ask(api.demo, 'PUT', `ports/${idOf(port)}`, {
      port: { fixed_ips: [at(10), at(11)] },
    })
    const taken = await api.refusal(api.demo, 'ports', {
      network_id: idOf(made),
      fixed_ips: [at(11)],
    })

    expect(changed.body['port']!['fixed_ips']).toEqual([at(10), at(11)])
    expect(taken.status).toBe(409)
  })

  test('cannot be claimed for a server, a host or a foreign project by a user', async () => {
    const network_id = idOf(await api.networkWithSubnet())
    for (const fields of [
      { device_owner: 'compute:nova' },
      { 'binding:host_id': 'host' },
      { project_id: api.adminProject },
    ])
      expect((await api.refusal(api.demo, 'ports', { network_id, ...fields })).status).toBe(403)
  })

  test('may have no address and no group', async () => {
    const network_id = idOf(await api.networkWithSubnet())

    const port = await api.make(api.demo, 'ports', {
      network_id,
      fixed_ips: [],
      security_groups: [],
    })

    expect(port).toMatchObject({ fixed_ips: [], security_groups: [] })
  })
})

describe('a security group', () => {
  test('of a project exists once, from the first request on', async () => {
    const lists = await Promise.all(
      [1, 2, 3, 4].map(() => api.list(api.demo, 'security-groups', 'name=default')),
    )

    for (const groups of lists) expect(groups).toHaveLength(1)
    expect(new Set(lists.map(([group]) => idOf(group!))).size).toBe(1)
    expect(lists[0]?.[0]?.['security_group_rules']).toHaveLength(4)
  })

  test('is created with egress, given rules, and deleted', async () => {
    const group = await api.make(api.demo, 'security-groups', {
      name: 'web',
      description: 'd',
    })
    const draft = { security_group_id: idOf(group), direction: 'ingress' }
    const rule = await api.make(api.demo, 'security-group-rules', {
      ...draft,
      protocol: 'tcp',
      port_range_min: 80,
      port_range_max: 80,
      remote_ip_prefix: '0.0.0.0/0',
      ethertype: 'IPv4',
    })
    const again = await api.refusal(api.demo, 'security-group-rules', {
      ...draft,
      protocol: '6',
      port_range_min: '80',
      port_range_max: '80',
      remote_ip_prefix: '0.0.0.0/0',
    })

    expect(group['security_group_rules']).toHaveLength(2)
    expect(rule).toMatchObject({ protocol: 'tcp', port_range_min: 80, direction: 'ingress' })
    expect(again).toEqual({
      status: 409,
      message: 'Security group rule already exists in this group.',
    })
    expect((await api.ask(api.demo, 'DELETE', `security-group-rules/${idOf(rule)}`)).status).toBe(
      204,
    )
    expect((await api.ask(api.demo, 'DELETE', `security-groups/${idOf(group)}`)).status).toBe(204)
    expect((await api.ask(api.demo, 'GET', `security-groups/${idOf(group)}`)).status).toBe(404)
  })

  test('shows protocols as they were given, with the newer name for ICMP of IPv6', async () => {
    const group = await api.make(api.demo, 'security-groups', { name: 'protocols' })
    const draft = { security_group_id: idOf(group), direction: 'ingress' }
    const shown = []
    for (const [protocol, ethertype] of [
      ['112', 'IPv4'],
      [17, 'IPv4'],
      ['TCP', 'IPv4'],
      ['icmp', 'IPv6'],
      ['17', 'IPv6'],
    ]) {
      const rule = { ...draft, protocol, ethertype }
      shown.push((await api.make(api.demo, 'security-group-rules', rule))['protocol'])
    }

    expect(shown).toEqual(['112', '17', 'tcp', 'ipv6-icmp', '17'])
    for (const [protocol, ethertype] of [
      ['vrrp', 'IPv4'],
      ['6', 'IPv4'],
      ['1', 'IPv6'],
      ['icmpv6', 'IPv6'],
    ]) {
      const again = { ...draft, protocol, ethertype }
      expect(await api.refusal(api.demo, 'security-group-rules', again)).toMatchObject({
        status: 409,
      })
    }
    await api.ask(api.demo, 'DELETE', `security-groups/${idOf(group)}`)
  })

  test('shows prefixes as they were given, and beside them their networks', async () => {
    const group = await api.make(api.demo, 'security-groups', { name: 'prefixes' })
    const draft = { security_group_id: idOf(group), direction: 'ingress' }
    const shown = []
    for (const [remote_ip_prefix, ethertype] of [
      ['10.2.3.124/24', 'IPv4'],
      ['10.2.3.0/24', 'IPv4'],
      ['10.2.3.4', 'IPv4'],
      ['FD00::1/64', 'IPv6'],
    ]) {
      const prefix = { remote_ip_prefix, ethertype }
      const rule = await api.make(api.demo, 'security-group-rules', { ...draft, ...prefix })
      shown.push([rule['remote_ip_prefix'], rule['normalized_cidr']])
    }

    expect(shown).toEqual([
      ['10.2.3.124/24', '10.2.3.0/24'],
      ['10.2.3.0/24', '10.2.3.0/24'],
      ['10.2.3.4/32', '10.2.3.4/32'],
      ['fd00::1/64', 'fd00::/64'],
    ])
    await api.ask(api.demo, 'DELETE', `security-groups/${idOf(group)}`)
  })

  test.each([
    [{ protocol: 'carrier-pigeon' }, 'not supported'],
    [{ protocol: 'ipv6-icmp' }, 'Invalid ethertype IPv4 for protocol ipv6-icmp.'],
    [{ protocol: 'tcp', port_range_min: 90, port_range_max: 80 }, 'port_range_min'],
    [{ protocol: 'tcp', port_range_min: 80 }, 'port_range'],
    [{ port_range_min: 80, port_range_max: 80 }, 'protocol'],
    [{ protocol: 'icmp', port_range_max: 3 }, 'ICMP'],
    [{ remote_ip_prefix: 'fd00::/8', ethertype: 'IPv4' }, 'ethertype'],
    [{ remote_ip_prefix: '10.0.0.0/40' }, 'remote_ip_prefix'],
    [{ remote_ip_prefix: '10.0.0.0/8', remote_group_id: randomUUID() }, ''],
  ])('refuses the rule %j', async (fields, text) => {
    const group = await api.make(api.demo, 'security-groups', { name: 'g' })
    const draft = { security_group_id: idOf(group), direction: 'ingress', ...fields }

    const refused = await api.refusal(api.demo, 'security-group-rules', draft)
    await api.ask(api.demo, 'DELETE', `security-groups/${idOf(group)}`)

    expect([400, 404]).toContain(refused.status)
    expect(refused.message).toContain(text)
  })

  test('in use or the default one is not deleted', async () => {
    const network_id = idOf(await api.networkWithSubnet())
    const group = await api.make(api.demo, 'security-groups', { name: 'used' })
    await api.make(api.demo, 'ports', { network_id, security_groups: [idOf(group)] })
    const [standard] = await api.list(api.demo, 'security-groups', 'name=default')

    expect((await api.ask(api.demo, 'DELETE', `security-groups/${idOf(group)}`)).status).toBe(409)
    expect((await api.ask(api.demo, 'DELETE', `security-groups/${idOf(standard!)}`)).status).toBe(
      409,
    )
  })
})

describe('quotas', () => {
  test('are shown to their project, changed by administrators, and hold at any concurrency', async () => {
    const before = await api.ask(api.demo, 'GET', `quotas/${api.demoProject}/details`)
    const used = Number(before.body['quota']!['network']!['used'])
    const limit = used + 3
    const denied = await api.ask(api.demo, 'PUT', `quotas/${api.demoProject}`, {
      quota: { network: 1000 },
    })
    const changed = await api.ask(api.admin, 'PUT', `quotas/${api.demoProject}`, {
      quota: { network: limit },
    })

    const replies = await Promise.all(
      Array.from({ length: 8 }, () =>
        api.ask(api.demo, 'POST', 'networks', { network: { name: 'q' } }),
      ),
    )
    await api.ask(api.admin, 'DELETE', `quotas/${api.demoProject}`)

    expect(denied.status).toBe(403)
    expect(changed.body['quota']).toMatchObject({ network: limit, port: 500 })
    const made = replies.filter((reply) => reply.status === 201)
    const refused = replies.filter((reply) => reply.status !== 201)
    expect(made).toHaveLength(3)
    expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([409]))
    expect(refused[0]?.body['NeutronError']).toMatchObject({
      type: 'OverQuota',
      message: "Quota exceeded for resources: ['network'].",
    })
    for (const reply of made)
      await api.ask(api.demo, 'DELETE', `networks/${idOf(reply.body['network']!)}`)
    const after = await api.ask(api.demo, 'GET', `quotas/${api.demoProject}/details`)
    expect(after.body['quota']!['network']).toEqual({ limit: 100, used, reserved: 0 })
  })

  test('of another project are not found', async () => {
    for (const path of ['', '/details', '/default'])
      expect((await api.ask(api.demo, 'GET', `quotas/${api.adminProject}${path}`)).status).toBe(404)
  })
})
