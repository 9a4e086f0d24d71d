import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import { applyHostViews } from '#gateway/db/host-index.ts'
import { sampleHost } from '#test/env/sample-host.ts'
import { listOf } from './json.ts'
import { idOf, keyOf, type NetworkApi, networkApi } from './network-api.ts'

let api: NetworkApi

beforeAll(async () => {
  api = await networkApi()
})

afterAll(async () => {
  await api?.[Symbol.asyncDispose]()
})

describe('discovery', () => {
  test.each(['/networking', '/networking/'])(
    'GET %s lists the version without a token',
    async (path) => {
      const reply = await api.http.ask('GET', path)

      expect(reply.status).toBe(200)
      expect(reply.body['versions']).toEqual([
        {
          id: 'v2.0',
          status: 'CURRENT',
          links: [{ rel: 'self', href: 'http://cloud.test:8774/networking/v2.0/' }],
        },
      ])
    },
  )

  test('the list of extensions has the supported ones and no others', async () => {
    const listed = await api.list(api.demo, 'extensions')
    const missing = await api.ask(api.demo, 'GET', 'extensions/router')

    expect(listed.map((extension) => extension['alias'])).toContain('security-group')
    expect(missing.status).toBe(404)
    expect(missing.body['NeutronError']!['message']).toContain('router')
    expect((await api.ask(api.demo, 'GET', 'extensions/quota_details')).status).toBe(200)
  })

  test('zones and agents are those of the hosts', async () => {
    const [left, right] = [
      sampleHost('agent-1', { zone: 'left', capabilities: ['firewall'] }),
      sampleHost('agent-2', { zone: 'right', isDisabled: true }),
    ]
    await api.http.gateway.db.transaction((tx) => applyHostViews(tx, newId(), [left, right]))

    // No heartbeat of their cell has come.
    expect(await api.list(api.demo, 'availability_zones')).toEqual([
      { name: 'left', resource: 'network', state: 'unavailable' },
      { name: 'right', resource: 'network', state: 'unavailable' },
    ])
    expect(await api.list(api.demo, 'availability_zones', 'name=left&fields=name')).toEqual([
      { name: 'left' },
    ])
    expect(await api.list(api.demo, 'availability_zones', 'resource=router')).toEqual([])
    const [agent, ...others] = await api.list(api.admin, 'agents', 'admin_state_up=true')
    expect(others).toEqual([])
    expect(agent).toMatchObject({
      id: left.hostId,
      host: 'agent-1',
      availability_zone: 'left',
      alive: false,
      started_at: '2026-11-21 07:00:00',
      configurations: { driver: 'fake', filters_ports: true },
    })
    expect(await api.list(api.admin, 'agents', 'alive=true')).toEqual([])
    const shown = await api.ask(api.admin, 'GET', `agents/${right.hostId}?fields=host`)
    expect(shown.body).toEqual({ agent: { host: 'agent-2' } })
    expect((await api.ask(api.admin, 'GET', 'agents/none')).status).toBe(404)
    expect((await api.ask(api.admin, 'GET', 'agents?colour=red')).status).toBe(400)
    expect((await api.ask(api.demo, 'GET', 'agents')).status).toBe(403)
  })
})

describe('a network', () => {
  test('is created as the command line does, shown, renamed and deleted', async () => {
    const made = await api.network(api.demo, { name: 'private', admin_state_up: true })
    const id = idOf(made)

    expect(made).toMatchObject({
      name: 'private',
      project_id: api.demoProject,
      tenant_id: api.demoProject,
      status: 'ACTIVE',
      admin_state_up: true,
      shared: false,
      'router:external': false,
      mtu: 1500,
      subnets: [],
      tags: [],
      revision_number: 1,
    })
    expect(made).not.toHaveProperty('weir:cells')
    const changed = await api.ask(api.demo, 'PUT', `networks/${id}`, {
      network: { name: 'renamed' },
    })
    expect(changed.body['network']).toMatchObject({ name: 'renamed', revision_number: 2 })
    expect((await api.ask(api.demo, 'DELETE', `networks/${id}`)).status).toBe(204)
    expect((await api.ask(api.demo, 'GET', `networks/${id}`)).status).toBe(404)
  })

  test('is created together with others, either all or none', async () => {
    const made = await api.ask(api.demo, 'POST', 'networks', {
      networks: [{ name: 'bulk-1' }, { name: 'bulk-2' }],
    })
    const [one, two] = listOf(made.body['networks'])
    const network_id = idOf(one!)
    const subnets = await api.ask(api.demo, 'POST', 'subnets', {
      subnets: ['10.230.0.0/24', '10.230.1.0/24'].map((cidr) => {
        return { network_id, ip_version: 4, cidr }
      }),
    })
    const clash = { network_id: idOf(two!), ip_version: 4, cidr: '10.231.0.0/24' }
    const refused = await api.ask(api.demo, 'POST', 'subnets', { subnets: [clash, clash] })
    const ports = await api.ask(api.demo, 'POST', 'ports', {
      ports: [
        { network_id, name: 'a' },
        { network_id, name: 'b' },
      ],
    })

    expect(made.status).toBe(201)
    expect(two).toMatchObject({ name: 'bulk-2' })
    expect(listOf(subnets.body['subnets'])).toHaveLength(2)
    expect(refused.status).toBe(400)
    expect(await api.list(api.demo, 'subnets', `network_id=${idOf(two!)}`)).toEqual([])
    expect(listOf(ports.body['ports']).map((port) => port['name'])).toEqual(['a', 'b'])
    for (const body of [{}, { network: {}, networks: [{}] }, { networks: [] }])
      expect((await api.ask(api.demo, 'POST', 'networks', body)).status).toBe(400)
  })

  test('has groups and rules that are made together, too', async () => {
    const made = await api.ask(api.demo, 'POST', 'security-groups', {
      security_groups: [{ name: 'bulk-a' }, { name: 'bulk-b' }],
    })
    const [one, two] = listOf(made.body['security_groups'])
    const rule = (security_group_id: string, port_range_min: number) => {
      const port = { port_range_min, port_range_max: port_range_min }
      return { security_group_id, direction: 'ingress', protocol: 'tcp', ...port }
    }
    const make = (rules: readonly object[]) =>
      api.ask(api.demo, 'POST', 'security-group-rules', { security_group_rules: rules })
    const rules = await make([rule(idOf(one!), 22), rule(idOf(one!), 80)])
    const twice = await make([rule(idOf(two!), 22), rule(idOf(two!), 22)])
    const apart = await make([rule(idOf(one!), 443), rule(idOf(two!), 443)])

    expect([made.status, rules.status, twice.status, apart.status]).toEqual([201, 201, 409, 400])
    const ports = listOf(rules.body['security_group_rules']).map((each) => each['port_range_min'])
    expect(ports).toEqual([22, 80])
    const query = `security_group_id=${idOf(two!)}&direction=ingress`
    expect(await api.list(api.demo, 'security-group-rules', query)).toEqual([])
    const named = [{ name: 'bulk-c' }, { name: 'default' }]
    const refused = await api.ask(api.demo, 'POST', 'security-groups', { security_groups: named })
    expect(refused.status).toBe(409)
    expect(await api.list(api.demo, 'security-groups', 'name=bulk-c')).toEqual([])
  })

  test('takes its subnets with it, and stays while ports are on it', async () => {
    const id = idOf(await api.networkWithSubnet())
    const port = await api.make(api.demo, 'ports', { network_id: id })

    const inUse = await api.ask(api.demo, 'DELETE', `networks/${id}`)
    await api.ask(api.demo, 'DELETE', `ports/${idOf(port)}`)
    const free = await api.ask(api.demo, 'DELETE', `networks/${id}`)

    expect(inUse.status).toBe(409)
    expect(inUse.body['NeutronError']!['message']).toContain(idOf(port))
    expect(free.status).toBe(204)
    expect(await api.list(api.demo, 'subnets', `network_id=${id}`)).toEqual([])
  })

  test('is shared, made external or kept to some cells by administrators only', async () => {
    const cells = [randomUUID()]
    for (const fields of [{ shared: true }, { 'router:external': true }, { 'weir:cells': cells }])
      expect((await api.refusal(api.demo, 'networks', fields)).status).toBe(403)

    const made = await api.network(api.admin, { 'weir:cells': cells })

    expect(made['weir:cells']).toEqual(cells)
  })

  test('is not made private again while others are on it', async () => {
    const id = idOf(await api.networkWithSubnet(api.admin, { shared: true }))
    await api.make(api.demo, 'ports', { network_id: id })

    const reply = await api.ask(api.admin, 'PUT', `networks/${id}`, { network: { shared: false } })

    expect(reply.status).toBe(409)
  })
})

describe('a subnet', () => {
  test('gets a gateway and pools of everything else', async () => {
    const made = await api.subnet(idOf(await api.network()), api.demo, { cidr: '192.0.2.0/28' })

    expect(made).toMatchObject({
      cidr: '192.0.2.0/28',
      gateway_ip: '192.0.2.1',
      enable_dhcp: true,
      allocation_pools: [{ start: '192.0.2.2', end: '192.0.2.14' }],
      dns_nameservers: [],
      ip_version: 4,
    })
  })

  test('without a gateway, with one inside, or of IPv6 has pools around it', async () => {
    const id = idOf(await api.network())
    const none = await api.subnet(id, api.demo, { cidr: '192.0.2.0/29', gateway_ip: null })
    const inside = await api.subnet(id, api.demo, {
      cidr: '192.0.2.8/29',
      gateway_ip: '192.0.2.12',
    })
    const six = await api.subnet(id, api.demo, { cidr: 'fd00::/64', ip_version: 6 })

    expect(none['allocation_pools']).toEqual([{ start: '192.0.2.1', end: '192.0.2.6' }])
    expect(inside['allocation_pools']).toEqual([
      { start: '192.0.2.9', end: '192.0.2.11' },
      { start: '192.0.2.13', end: '192.0.2.14' },
    ])
    expect(six).toMatchObject({ gateway_ip: 'fd00::1' })
  })

  test.each([
    [{ cidr: '10.0.0.1/24' }, 400, 'host bits'],
    [{ cidr: '10.0.0.0' }, 400, 'not a valid IP subnet'],
    [{ cidr: '10.1/16' }, 400, 'not a valid IP address'],
    [{ cidr: 'fd00::/64' }, 400, 'it is of IP version 6, but ip_version is 4'],
    [{ cidr: 'fd00::/48', ip_version: 6 }, 400, 'at least /64'],
    [{ cidr: '10.200.0.0/24', gateway_ip: '10.201.0.1' }, 400, 'not usable'],
    [{ cidr: '10.200.0.0/24', gateway_ip: '10.200.0.255' }, 400, 'not usable'],
    [
      { cidr: '10.200.0.0/24', allocation_pools: [{ start: '10.200.0.1', end: '10.200.0.9' }] },
      409,
      'conflicts',
    ],
    [
      { cidr: '10.200.0.0/24', allocation_pools: [{ start: '10.200.0.9', end: '10.200.0.2' }] },
      400,
      'not valid',
    ],
    [
      { cidr: '10.200.0.0/24', allocation_pools: [{ start: '10.200.0.2', end: '10.200.1.2' }] },
      400,
      'beyond',
    ],
    [{ cidr: '10.200.0.0/24', dns_nameservers: ['x'] }, 400, 'dns_nameservers'],
    [
      { cidr: '10.200.0.0/24', host_routes: [{ destination: '0.0.0.0/0', nexthop: 'fd00::1' }] },
      400,
      'host_routes',
    ],
  ])('%j is refused with %d', async (fields, status, text) => {
    const draft = { network_id: idOf(await api.network()), ip_version: 4, ...fields }

    const refused = await api.refusal(api.demo, 'subnets', draft)

    expect(refused).toEqual({ status, message: expect.stringContaining(text) })
  })

  test('may not overlap another of its network, also when both are made at once', async () => {
    const draft = { network_id: idOf(await api.network()), ip_version: 4 }

    const replies = await Promise.all(
      ['10.210.0.0/16', '10.210.3.0/24'].map((cidr) =>
        api.ask(api.demo, 'POST', 'subnets', { subnet: { ...draft, cidr } }),
      ),
    )

    expect(replies.map((reply) => reply.status).sort((x, y) => x - y)).toEqual([201, 400])
  })

  test('is changed and, once free, deleted', async () => {
    const made = await api.network()
    const id = idOf(await api.subnet(idOf(made)))
    const port = await api.make(api.demo, 'ports', { network_id: idOf(made) })

    const changed = await api.ask(api.demo, 'PUT', `subnets/${id}`, {
      subnet: { dns_nameservers: ['192.0.2.53'], enable_dhcp: false },
    })
    const inUse = await api.ask(api.demo, 'DELETE', `subnets/${id}`)
    await api.ask(api.demo, 'DELETE', `ports/${idOf(port)}`)

    expect(changed.body['subnet']).toMatchObject({
      dns_nameservers: ['192.0.2.53'],
      enable_dhcp: false,
    })
    expect(inUse.status).toBe(409)
    expect((await api.ask(api.demo, 'DELETE', `subnets/${id}`)).status).toBe(204)
  })
})

describe('tags and revisions', () => {
  test.each(['networks', 'subnets', 'ports', 'security-groups'])(
    'of %s are replaced, added, removed, and narrow lists; a write may be for one revision',
    async (collection) => {
      const objects = await Promise.all([tagged(collection), tagged(collection)])
      const [path, other] = objects.map((id) => `${collection}/${id}/tags`)
      const ask = (method: string, at: string, body?: object) => api.ask(api.demo, method, at, body)

      const set = await ask('PUT', path!, { tags: ['red', 'big', 'red'] })
      expect(set.body).toEqual({ tags: ['red', 'big'] })
      expect((await ask('PUT', `${path}/two%20words`)).status).toBe(201)
      expect((await ask('GET', path!)).body).toEqual({ tags: ['red', 'big', 'two words'] })
      expect((await ask('GET', `${path}/two%20words`)).status).toBe(204)
      expect((await ask('DELETE', `${path}/two%20words`)).status).toBe(204)
      expect((await ask('DELETE', `${path}/two%20words`)).status).toBe(404)
      expect((await ask('PUT', other!, { tags: ['red'] })).status).toBe(200)

      const [one, two] = objects
      const ids = `id=${one}&id=${two}`
      for (const [query, found] of [
        ['tags=red,big', [one]],
        ['tags-any=big,blue', [one]],
        ['not-tags=red,big', [two]],
        ['not-tags-any=big,blue', [two]],
        ['tags=%22', []],
      ] as const)
        expect((await api.list(api.demo, collection, `${ids}&${query}`)).map(idOf)).toEqual(found)

      const change = { [keyOf(collection)]: { description: 'else' } }
      const at = `${collection}/${one}`
      const late = await api.askFor(3, 'PUT', at, change)
      expect(late.status).toBe(412)
      expect(late.body['NeutronError']).toMatchObject({ type: 'RevisionNumberConstraintFailed' })
      expect((await api.askFor(4, 'PUT', at, change)).status).toBe(200)
      expect((await api.askFor(4, 'DELETE', at)).status).toBe(412)

      const [shown] = await api.list(api.demo, collection, `id=${one}`)
      expect(shown).toMatchObject({ tags: ['red', 'big'], revision_number: 5 })
      expect((await ask('DELETE', path!)).status).toBe(204)
      expect((await ask('GET', path!)).body).toEqual({ tags: [] })
      expect((await api.askFor(6, 'DELETE', at)).status).toBe(204)
    },
  )

  test('that are none, or of what has none, are refused', async () => {
    const path = `networks/${await tagged('networks')}/tags`
    for (const tags of ['red', [''], ['x'.repeat(61)], [1]])
      expect((await api.ask(api.demo, 'PUT', path, { tags })).status).toBe(400)
    expect((await api.ask(api.demo, 'PUT', `${path}/${'x'.repeat(61)}`)).status).toBe(400)
    expect((await api.ask(api.demo, 'GET', 'quotas/x/tags')).status).toBe(404)
  })

  async function tagged(collection: string): Promise<string> {
    if (collection === 'networks') return idOf(await api.network())
    if (collection === 'subnets') return idOf(await api.subnet(await tagged('networks')))
    const fields =
      collection === 'ports' ? { network_id: await tagged('networks') } : { name: 'tagged' }
    return idOf(await api.make(api.demo, collection, fields))
  }
})

test('changes of one network at once are all made', async () => {
  const made = await api.network()

  const replies = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      api.ask(api.demo, 'PUT', `networks/${idOf(made)}`, { network: { description: `${index}` } }),
    ),
  )

  expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]))
  const [shown] = await api.list(api.demo, 'networks', `id=${idOf(made)}`)
  expect(shown).toMatchObject({ revision_number: 21 })
})
