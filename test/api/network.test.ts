import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bootstrapIdentity } from '#gateway/app/identity/bootstrap.ts'
import { nicsReach } from '#gateway/app/networks/cells-reaching.ts'
import type { RequestedNetworks } from '#gateway/app/networks/nic-request.ts'
import { nicSpecs, serverAddresses } from '#gateway/app/networks/nic-views.ts'
import { planNics } from '#gateway/app/networks/plan-nics.ts'
import { allocatePorts, releasePorts, serverNics } from '#gateway/app/networks/server-ports.ts'
import {
  type Face,
  type IdentityWorld,
  identityWorld,
  type Json,
  type Reply,
} from './identity-world.ts'

const NET = '/networking/v2.0'
let world: IdentityWorld
let face: Face
let admin: string
let demo: string
let demoProject: string
let adminProject: string
let nextSubnet = 0

beforeAll(async () => {
  world = await identityWorld()
  face = await world.addGateway({ GATEWAY_DATABASE_CONNECTIONS: '8' }, ['identity', 'network'])
  const { admin: adminPassword, demo: demoPassword } = world.passwords
  const made = await bootstrapIdentity(face.gateway.db, { adminPassword, demoPassword })
  demoProject = made.demoProjectId
  adminProject = made.adminProjectId
  admin = await face.logIn('admin', adminPassword)
  demo = await face.logIn('demo', demoPassword)
})

afterAll(async () => {
  await world[Symbol.asyncDispose]()
})

async function make(token: string, collection: string, key: string, fields: object): Promise<Json> {
  const reply = await face.ask('POST', `${NET}/${collection}`, { token, body: { [key]: fields } })
  expect(reply.status, JSON.stringify(reply.body)).toBe(201)
  return reply.body[key]!
}

async function refusal(token: string, collection: string, key: string, fields: object) {
  const reply = await face.ask('POST', `${NET}/${collection}`, { token, body: { [key]: fields } })
  return { status: reply.status, message: String(reply.body['NeutronError']?.['message']) }
}

const network = (token = demo, fields: object = {}) =>
  make(token, 'networks', 'network', { name: 'net', ...fields })
const idOf = (object: Json) => String(object['id'])

async function subnet(networkId: string, token = demo, fields: object = {}): Promise<Json> {
  nextSubnet += 1
  const cidr = `10.${nextSubnet}.0.0/24`
  const draft = { network_id: networkId, ip_version: 4, cidr, ...fields }
  return make(token, 'subnets', 'subnet', draft)
}

async function networkWithSubnet(token = demo, fields: object = {}): Promise<Json> {
  const made = await network(token, fields)
  await subnet(idOf(made), token)
  return made
}

async function list(token: string, collection: string, query = ''): Promise<readonly Json[]> {
  const reply = await face.ask('GET', `${NET}/${collection}?${query}`, { token })
  expect(reply.status, JSON.stringify(reply.body)).toBe(200)
  return reply.body[collection.replaceAll('-', '_')] as unknown as readonly Json[]
}

function ask(token: string, method: string, path: string, body?: object): Promise<Reply> {
  return face.ask(method, `${NET}/${path}`, { token, body })
}

describe('discovery', () => {
  test.each(['/networking', '/networking/'])(
    'GET %s lists the version without a token',
    async (path) => {
      const reply = await face.ask('GET', path)

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

  test('extensions name what there is and nothing else', async () => {
    const listed = await list(demo, 'extensions')
    const missing = await ask(demo, 'GET', 'extensions/router')

    expect(listed.map((extension) => extension['alias'])).toContain('security-group')
    expect(missing.status).toBe(404)
    expect(missing.body['NeutronError']!['message']).toContain('router')
    expect((await ask(demo, 'GET', 'extensions/quota_details')).status).toBe(200)
  })

  test('zones and agents are empty', async () => {
    expect(await list(demo, 'availability_zones')).toEqual([])
    expect(await list(admin, 'agents')).toEqual([])
    expect((await ask(demo, 'GET', 'agents')).status).toBe(403)
  })
})

describe('a network', () => {
  test('is created as the command line does, shown, renamed and deleted', async () => {
    const made = await network(demo, { name: 'private', admin_state_up: true })
    const id = idOf(made)

    expect(made).toMatchObject({
      name: 'private',
      project_id: demoProject,
      tenant_id: demoProject,
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
    const changed = await ask(demo, 'PUT', `networks/${id}`, { network: { name: 'renamed' } })
    expect(changed.body['network']).toMatchObject({ name: 'renamed', revision_number: 2 })
    expect((await ask(demo, 'DELETE', `networks/${id}`)).status).toBe(204)
    expect((await ask(demo, 'GET', `networks/${id}`)).status).toBe(404)
  })

  test('takes its subnets with it, and stays while ports are on it', async () => {
    const id = idOf(await networkWithSubnet())
    const port = await make(demo, 'ports', 'port', { network_id: id })

    const inUse = await ask(demo, 'DELETE', `networks/${id}`)
    await ask(demo, 'DELETE', `ports/${idOf(port)}`)
    const free = await ask(demo, 'DELETE', `networks/${id}`)

    expect(inUse.status).toBe(409)
    expect(inUse.body['NeutronError']!['message']).toContain(idOf(port))
    expect(free.status).toBe(204)
    expect(await list(demo, 'subnets', `network_id=${id}`)).toEqual([])
  })

  test('is shared, made external or kept to some cells by administrators only', async () => {
    const cells = [randomUUID()]
    for (const fields of [{ shared: true }, { 'router:external': true }, { 'weir:cells': cells }])
      expect((await refusal(demo, 'networks', 'network', fields)).status).toBe(403)

    const made = await network(admin, { 'weir:cells': cells })

    expect(made['weir:cells']).toEqual(cells)
  })

  test('is not made private again while others are on it', async () => {
    const id = idOf(await networkWithSubnet(admin, { shared: true }))
    await make(demo, 'ports', 'port', { network_id: id })

    const reply = await ask(admin, 'PUT', `networks/${id}`, { network: { shared: false } })

    expect(reply.status).toBe(409)
  })
})

describe('a list', () => {
  test('is filtered by any of several values, sorted, cut to fields and paged with links', async () => {
    const name = `net-${randomBytes(4).toString('hex')}`
    const ids = await Promise.all([1, 2, 3].map(async () => idOf(await network(demo, { name }))))

    const some = await list(demo, 'networks', `id=${ids[0]}&id=${ids[2]}&fields=id&fields=name`)
    const firstPage = await ask(
      demo,
      'GET',
      `networks?name=${name}&limit=2&sort_key=name&sort_dir=desc`,
    )
    const [link] = firstPage.body['networks_links'] as unknown as readonly Json[]
    const href = String(link?.['href']).replace('http://cloud.test:8774', '')
    const secondPage = await face.ask('GET', href, { token: demo })

    expect(some).toHaveLength(2)
    expect(some[0]).toEqual({ id: expect.any(String), name })
    const seen = [firstPage, secondPage].flatMap(
      (page) => page.body['networks'] as unknown as readonly Json[],
    )
    expect(new Set(seen.map(idOf))).toEqual(new Set(ids))
    expect(secondPage.body).not.toHaveProperty('networks_links')
  })

  test.each([
    'networks?secret=1',
    'networks?limit=x',
    'networks?marker=nothing',
    'networks?sort_key=secret',
    'networks?sort_key=name&sort_dir=up',
    'networks?shared=perhaps',
    'ports?fixed_ips=nonsense',
  ])('%s is refused', async (path) => {
    expect((await ask(demo, 'GET', path)).status).toBe(400)
  })

  test('of ports finds them by device, address, subnet and group', async () => {
    const made = await network()
    const onIt = await subnet(idOf(made))
    const port = await make(demo, 'ports', 'port', {
      network_id: idOf(made),
      device_id: 'my-device',
    })
    const [fixedIp] = port['fixed_ips'] as unknown as readonly Json[]
    const [group] = port['security_groups'] as unknown as readonly string[]

    for (const query of [
      'device_id=my-device',
      `fixed_ips=ip_address=${String(fixedIp?.['ip_address'])}`,
      `fixed_ips=subnet_id=${idOf(onIt)}`,
      `security_groups=${group}&network_id=${idOf(made)}`,
      `mac_address=${String(port['mac_address']).toUpperCase()}`,
    ])
      expect((await list(demo, 'ports', query)).map(idOf), query).toEqual([idOf(port)])
  })
})

describe('a subnet', () => {
  test('gets a gateway and pools of everything else', async () => {
    const made = await subnet(idOf(await network()), demo, { cidr: '192.0.2.0/28' })

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
    const id = idOf(await network())
    const none = await subnet(id, demo, { cidr: '192.0.2.0/29', gateway_ip: null })
    const inside = await subnet(id, demo, { cidr: '192.0.2.8/29', gateway_ip: '192.0.2.12' })
    const six = await subnet(id, demo, { cidr: 'fd00::/64', ip_version: 6 })

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
    [{ cidr: 'fd00::/64' }, 400, 'IP version 4'],
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
    const draft = { network_id: idOf(await network()), ip_version: 4, ...fields }

    const refused = await refusal(demo, 'subnets', 'subnet', draft)

    expect(refused).toEqual({ status, message: expect.stringContaining(text) })
  })

  test('may not overlap another of its network, also when both are made at once', async () => {
    const draft = { network_id: idOf(await network()), ip_version: 4 }

    const replies = await Promise.all(
      ['10.210.0.0/16', '10.210.3.0/24'].map((cidr) =>
        ask(demo, 'POST', 'subnets', { subnet: { ...draft, cidr } }),
      ),
    )

    expect(replies.map((reply) => reply.status).sort()).toEqual([201, 400])
  })

  test('is changed and, once free, deleted', async () => {
    const made = await network()
    const id = idOf(await subnet(idOf(made)))
    const port = await make(demo, 'ports', 'port', { network_id: idOf(made) })

    const changed = await ask(demo, 'PUT', `subnets/${id}`, {
      subnet: { dns_nameservers: ['192.0.2.53'], enable_dhcp: false },
    })
    const inUse = await ask(demo, 'DELETE', `subnets/${id}`)
    await ask(demo, 'DELETE', `ports/${idOf(port)}`)

    expect(changed.body['subnet']).toMatchObject({
      dns_nameservers: ['192.0.2.53'],
      enable_dhcp: false,
    })
    expect(inUse.status).toBe(409)
    expect((await ask(demo, 'DELETE', `subnets/${id}`)).status).toBe(204)
  })
})

describe('a port', () => {
  test('has a MAC, an address and the default group', async () => {
    const made = await networkWithSubnet()
    const port = await make(demo, 'ports', 'port', { network_id: idOf(made), name: 'p' })
    const groups = await list(demo, 'security-groups', 'name=default')

    expect(port).toMatchObject({
      status: 'DOWN',
      device_id: '',
      mac_address: expect.stringMatching(/^fa:16:3e(:[0-9a-f]{2}){3}$/),
      security_groups: groups.map(idOf),
      fixed_ips: [{ subnet_id: expect.any(String), ip_address: expect.stringMatching(/^10\./) }],
    })
    expect(port).not.toHaveProperty('binding:host_id')
  })

  test('keeps what it asks for again when its addresses change', async () => {
    const made = await network()
    const onIt = await subnet(idOf(made))
    const prefix = String(onIt['cidr']).replace('.0/24', '')
    const at = (last: number) => ({ subnet_id: idOf(onIt), ip_address: `${prefix}.${last}` })
    const port = await make(demo, 'ports', 'port', { network_id: idOf(made), fixed_ips: [at(10)] })

    const changed = await ask(demo, 'PUT', `ports/${idOf(port)}`, {
      port: { fixed_ips: [at(10), at(11)] },
    })
    const taken = await refusal(demo, 'ports', 'port', {
      network_id: idOf(made),
      fixed_ips: [at(11)],
    })

    expect(changed.body['port']!['fixed_ips']).toEqual([at(10), at(11)])
    expect(taken.status).toBe(409)
  })

  test('cannot be claimed for a server, a host or a foreign project by a user', async () => {
    const network_id = idOf(await networkWithSubnet())
    for (const fields of [
      { device_owner: 'compute:nova' },
      { 'binding:host_id': 'host' },
      { project_id: adminProject },
    ])
      expect((await refusal(demo, 'ports', 'port', { network_id, ...fields })).status).toBe(403)
  })

  test('may have no address and no group', async () => {
    const network_id = idOf(await networkWithSubnet())

    const port = await make(demo, 'ports', 'port', {
      network_id,
      fixed_ips: [],
      security_groups: [],
    })

    expect(port).toMatchObject({ fixed_ips: [], security_groups: [] })
  })
})

describe('a security group', () => {
  test('of a project is there from the first look, once', async () => {
    const looks = await Promise.all(
      [1, 2, 3, 4].map(() => list(demo, 'security-groups', 'name=default')),
    )

    for (const groups of looks) expect(groups).toHaveLength(1)
    expect(new Set(looks.map(([group]) => idOf(group!))).size).toBe(1)
    expect(looks[0]?.[0]?.['security_group_rules']).toHaveLength(4)
  })

  test('is created with egress, given rules, and deleted', async () => {
    const group = await make(demo, 'security-groups', 'security_group', {
      name: 'web',
      description: 'd',
    })
    const draft = { security_group_id: idOf(group), direction: 'ingress' }
    const rule = await make(demo, 'security-group-rules', 'security_group_rule', {
      ...draft,
      protocol: 'tcp',
      port_range_min: 80,
      port_range_max: 80,
      remote_ip_prefix: '0.0.0.0/0',
      ethertype: 'IPv4',
    })
    const again = await refusal(demo, 'security-group-rules', 'security_group_rule', {
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
    expect((await ask(demo, 'DELETE', `security-group-rules/${idOf(rule)}`)).status).toBe(204)
    expect((await ask(demo, 'DELETE', `security-groups/${idOf(group)}`)).status).toBe(204)
    expect((await ask(demo, 'GET', `security-groups/${idOf(group)}`)).status).toBe(404)
  })

  test.each([
    [{ protocol: 'carrier-pigeon' }, 'not supported'],
    [{ protocol: 'tcp', port_range_min: 90, port_range_max: 80 }, 'port_range_min'],
    [{ protocol: 'tcp', port_range_min: 80 }, 'port_range'],
    [{ port_range_min: 80, port_range_max: 80 }, 'protocol'],
    [{ protocol: 'icmp', port_range_max: 3 }, 'ICMP'],
    [{ remote_ip_prefix: 'fd00::/8', ethertype: 'IPv4' }, 'ethertype'],
    [{ remote_ip_prefix: '10.0.0.0/40' }, 'remote_ip_prefix'],
    [{ remote_ip_prefix: '10.0.0.0/8', remote_group_id: randomUUID() }, ''],
  ])('refuses the rule %j', async (fields, text) => {
    const group = await make(demo, 'security-groups', 'security_group', { name: 'g' })
    const draft = { security_group_id: idOf(group), direction: 'ingress', ...fields }

    const refused = await refusal(demo, 'security-group-rules', 'security_group_rule', draft)
    await ask(demo, 'DELETE', `security-groups/${idOf(group)}`)

    expect([400, 404]).toContain(refused.status)
    expect(refused.message).toContain(text)
  })

  test('in use or the default one is not deleted', async () => {
    const network_id = idOf(await networkWithSubnet())
    const group = await make(demo, 'security-groups', 'security_group', { name: 'used' })
    await make(demo, 'ports', 'port', { network_id, security_groups: [idOf(group)] })
    const [standard] = await list(demo, 'security-groups', 'name=default')

    expect((await ask(demo, 'DELETE', `security-groups/${idOf(group)}`)).status).toBe(409)
    expect((await ask(demo, 'DELETE', `security-groups/${idOf(standard!)}`)).status).toBe(409)
  })
})

describe('quotas', () => {
  test('are shown to their project, changed by administrators, and hold at any concurrency', async () => {
    const before = await ask(demo, 'GET', `quotas/${demoProject}/details`)
    const used = Number(before.body['quota']!['network']!['used'])
    const limit = used + 3
    const denied = await ask(demo, 'PUT', `quotas/${demoProject}`, { quota: { network: 1000 } })
    const changed = await ask(admin, 'PUT', `quotas/${demoProject}`, { quota: { network: limit } })

    const replies = await Promise.all(
      Array.from({ length: 8 }, () => ask(demo, 'POST', 'networks', { network: { name: 'q' } })),
    )
    await ask(admin, 'DELETE', `quotas/${demoProject}`)

    expect(denied.status).toBe(403)
    expect(changed.body['quota']).toMatchObject({ network: limit, port: 500 })
    const made = replies.filter((reply) => reply.status === 201)
    const refused = replies.filter((reply) => reply.status !== 201)
    expect(made).toHaveLength(3)
    expect(refused[0]?.body['NeutronError']).toMatchObject({
      type: 'OverQuota',
      message: "Quota exceeded for resources: ['network'].",
    })
    for (const reply of made) await ask(demo, 'DELETE', `networks/${idOf(reply.body['network']!)}`)
    const after = await ask(demo, 'GET', `quotas/${demoProject}/details`)
    expect(after.body['quota']!['network']).toEqual({ limit: 100, used, reserved: 0 })
  })

  test('of another project are not found', async () => {
    for (const path of ['', '/details', '/default'])
      expect((await ask(demo, 'GET', `quotas/${adminProject}${path}`)).status).toBe(404)
  })
})

describe('another project', () => {
  test.each([
    ['networks', 'network'],
    ['subnets', 'subnet'],
    ['ports', 'port'],
    ['security-groups', 'security_group'],
    ['security-group-rules', 'security_group_rule'],
  ])('finds none of the private %s', async (collection, key) => {
    const made = await network(admin)
    const onIt = await subnet(idOf(made), admin)
    const port = await make(admin, 'ports', 'port', { network_id: idOf(made) })
    const group = await make(admin, 'security-groups', 'security_group', { name: 'x' })
    const [rule] = group['security_group_rules'] as unknown as readonly Json[]
    const ids: Readonly<Record<string, string>> = {
      networks: idOf(made),
      subnets: idOf(onIt),
      ports: idOf(port),
      'security-groups': idOf(group),
      'security-group-rules': idOf(rule!),
    }
    const path = `${collection}/${ids[collection]}`

    expect((await ask(demo, 'GET', path)).status).toBe(404)
    expect((await ask(demo, 'DELETE', path)).status).toBe(404)
    if (key !== 'security_group_rule')
      expect((await ask(demo, 'PUT', path, { [key]: { name: 'mine' } })).status).toBe(404)
    expect(await list(demo, collection, `id=${ids[collection]}`)).toEqual([])
    await ask(admin, 'DELETE', `security-groups/${idOf(group)}`)
  })

  test('cannot put things on a private network, or use a private group', async () => {
    const made = await networkWithSubnet(admin)
    const group = await make(admin, 'security-groups', 'security_group', { name: 'y' })
    const own = await networkWithSubnet()
    const network_id = idOf(made)
    const subnetDraft = { network_id, ip_version: 4, cidr: '10.220.0.0/24' }
    const portDraft = { network_id: idOf(own), security_groups: [idOf(group)] }
    const ruleDraft = { security_group_id: idOf(group), direction: 'ingress' }

    expect((await refusal(demo, 'subnets', 'subnet', subnetDraft)).status).toBe(404)
    expect((await refusal(demo, 'ports', 'port', { network_id })).status).toBe(404)
    expect((await refusal(demo, 'ports', 'port', portDraft)).status).toBe(404)
    expect(
      (await refusal(demo, 'security-group-rules', 'security_group_rule', ruleDraft)).status,
    ).toBe(404)
  })

  test('uses a shared network, and may not change it or choose addresses on it', async () => {
    const made = await networkWithSubnet(admin, { shared: true })
    const network_id = idOf(made)
    const [onIt] = await list(demo, 'subnets', `network_id=${network_id}`)
    const chosen = { network_id, fixed_ips: [{ ip_address: String(onIt?.['gateway_ip']) }] }

    const port = await make(demo, 'ports', 'port', { network_id })

    expect(port['project_id']).toBe(demoProject)
    expect((await refusal(demo, 'ports', 'port', chosen)).status).toBe(403)
    const rename = await ask(demo, 'PUT', `networks/${network_id}`, { network: { name: 'mine' } })
    expect(rename.status).toBe(403)
    expect((await ask(demo, 'DELETE', `subnets/${idOf(onIt!)}`)).status).toBe(403)
  })
})

describe('a boot', () => {
  const now = new Date()

  async function freshProject(): Promise<{ projectId: string; isAdmin: boolean }> {
    return { projectId: randomUUID().replaceAll('-', ''), isAdmin: false }
  }

  const plan = (
    requester: { projectId: string; isAdmin: boolean },
    networks: RequestedNetworks,
    more: { securityGroups?: readonly string[]; serversMax?: number } = {},
  ) =>
    planNics(face.gateway.networks, requester, {
      networks,
      securityGroups: [],
      serversMax: 1,
      ...more,
    })

  const demoUser = () => ({ projectId: demoProject, isAdmin: false })

  test('gets a port per network, which go with the server, and a user port, which stays', async () => {
    const { db } = face.gateway
    const first = await networkWithSubnet(demo, { name: 'first' })
    const second = await networkWithSubnet(demo, { name: 'second' })
    const userPort = await make(demo, 'ports', 'port', { network_id: idOf(second) })
    const serverId = randomUUID()
    const decided = await plan(demoUser(), [
      { networkId: idOf(first), tag: 'front' },
      { portId: idOf(userPort) },
    ])

    const nics = await db.transaction((tx) =>
      allocatePorts(tx, { serverId, zone: 'nova', now }, decided),
    )
    const bound = await list(admin, 'ports', `device_id=${serverId}`)
    const taken = plan(demoUser(), [{ portId: idOf(userPort) }])
    await expect(taken).rejects.toThrow(`Port ${idOf(userPort)} is still in use.`)
    const read = await serverNics(db, serverId)

    expect(bound).toHaveLength(2)
    for (const port of bound) expect(port['device_owner']).toBe('compute:nova')
    expect(nicSpecs(read)).toEqual(nicSpecs(nics))
    expect(nicSpecs(nics)[0]).toMatchObject({
      networkId: idOf(first),
      mtu: 1500,
      fixedIps: [{ dhcp: true, gateway: expect.any(String), dnsServers: [] }],
    })
    expect(serverAddresses(nics)).toEqual({
      first: [
        {
          version: 4,
          addr: nics[0]?.port.fixedIps[0]?.address,
          'OS-EXT-IPS:type': 'fixed',
          'OS-EXT-IPS-MAC:mac_addr': nics[0]?.port.macAddress,
        },
      ],
      second: [expect.objectContaining({ 'OS-EXT-IPS-MAC:mac_addr': userPort['mac_address'] })],
    })

    await db.transaction((tx) => releasePorts(tx, serverId, now))
    await db.transaction((tx) => releasePorts(tx, serverId, now))

    expect(await list(admin, 'ports', `device_id=${serverId}`)).toEqual([])
    const kept = await ask(demo, 'GET', `ports/${idOf(userPort)}`)
    expect(kept.body['port']).toMatchObject({ device_id: '', device_owner: '', status: 'DOWN' })
  })

  test('of two that want one port is had by one', async () => {
    const { db } = face.gateway
    const made = await networkWithSubnet()
    const port = await make(demo, 'ports', 'port', { network_id: idOf(made) })
    const decided = await plan(demoUser(), [{ portId: idOf(port) }])

    const results = await Promise.allSettled(
      [randomUUID(), randomUUID()].map((serverId) =>
        db.transaction((tx) => allocatePorts(tx, { serverId, zone: '', now }, decided)),
      ),
    )

    expect(results.map((result) => result.status).sort()).toEqual(['fulfilled', 'rejected'])
  })

  test('without a choice takes the only network, or none, and refuses to guess', async () => {
    // Networks shared by other tests would be choices too.
    for (const shared of await list(admin, 'networks', 'shared=true')) {
      const ports = await list(admin, 'ports', `network_id=${idOf(shared)}`)
      for (const port of ports) await ask(admin, 'DELETE', `ports/${idOf(port)}`)
      await ask(admin, 'DELETE', `networks/${idOf(shared)}`)
    }
    const requester = await freshProject()
    const owned = { project_id: requester.projectId }

    expect((await plan(requester, undefined)).nics).toEqual([])
    await expect(plan(requester, 'auto')).rejects.toThrow('Unable to automatically allocate')
    const only = await network(admin, owned)
    await expect(plan(requester, undefined)).rejects.toThrow('requires a subnet')
    await subnet(idOf(only), admin)
    expect((await plan(requester, 'auto')).nics).toMatchObject([{ network: { id: idOf(only) } }])
    expect((await plan(requester, 'none')).nics).toEqual([])
    await network(admin, owned)
    await expect(plan(requester, undefined)).rejects.toThrow('Multiple possible networks')
  })

  test("is refused in Nova's words", async () => {
    const foreign = await networkWithSubnet(admin)
    const foreignPort = await make(admin, 'ports', 'port', { network_id: idOf(foreign) })
    const own = await networkWithSubnet()
    const external = await networkWithSubnet(admin, { 'router:external': true })
    const bare = await make(demo, 'ports', 'port', { network_id: idOf(own), fixed_ips: [] })
    const missing = randomUUID()
    const refused = async (networks: RequestedNetworks, kind: string, text: string, more = {}) =>
      expect(plan(demoUser(), networks, more)).rejects.toMatchObject({
        kind,
        message: expect.stringContaining(text),
      })

    await refused([{ networkId: missing }], 'invalid', `Network ${missing} could not be found.`)
    await refused([{ networkId: 'nonsense' }], 'invalid', 'could not be found')
    await refused([{ networkId: idOf(foreign) }], 'invalid', 'could not be found')
    await refused([{ portId: idOf(foreignPort) }], 'invalid', 'could not be found')
    await refused([{ portId: idOf(bare) }], 'invalid', 'requires a FixedIP')
    await refused([{ networkId: idOf(external) }], 'forbidden', 'external network')
    await refused(
      [{ networkId: idOf(own), fixedIp: '203.0.113.9' }],
      'invalid',
      'not a valid ip address',
    )
    await refused([{ networkId: idOf(own), fixedIp: '10.1.2.3' }], 'invalid', 'fixed_ip', {
      serversMax: 2,
    })
    await refused([{ portId: idOf(bare) }], 'invalid', 'multiple instances', { serversMax: 2 })
    await refused([{ networkId: idOf(own) }], 'invalid', "'nope'", { securityGroups: ['nope'] })
  })

  test('reaches the cells where all its networks have a segment', async () => {
    const [one, two] = [randomUUID(), randomUUID()]
    const everywhere = await networkWithSubnet(admin)
    const somewhere = await networkWithSubnet(admin, { 'weir:cells': [one] })
    const requester = { projectId: adminProject, isAdmin: true }

    const { nics } = await plan(requester, [
      { networkId: idOf(everywhere) },
      { networkId: idOf(somewhere) },
    ])

    expect(nicsReach(nics, one)).toBe(true)
    expect(nicsReach(nics, two)).toBe(false)
    expect(nicsReach(nics.slice(0, 1), two)).toBe(true)
  })

  test('fails with the numbers when the port quota is used up, and leaves nothing', async () => {
    const requester = await freshProject()
    const made = await network(admin, { project_id: requester.projectId })
    await subnet(idOf(made), admin)
    await ask(admin, 'PUT', `quotas/${requester.projectId}`, { quota: { port: 1 } })
    const decided = await plan(requester, [{ networkId: idOf(made) }, { networkId: idOf(made) }])
    const serverId = randomUUID()

    const boot = face.gateway.db.transaction((tx) =>
      allocatePorts(tx, { serverId, zone: '', now }, decided),
    )

    await expect(boot).rejects.toMatchObject({ kind: 'over-quota' })
    expect(await list(admin, 'ports', `device_id=${serverId}`)).toEqual([])
  })
})
