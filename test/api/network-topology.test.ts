import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { planNics } from '#gateway/app/networks/plan-nics.ts'
import type { Reply } from './identity-world.ts'
import { textOf } from './json.ts'
import { idOf, type NetworkApi, networkApi } from './network-api.ts'

let api: NetworkApi

beforeAll(async () => {
  api = await networkApi()
})

afterAll(async () => {
  await api?.[Symbol.asyncDispose]()
})

const fault = ({ status, body }: Reply) => ({
  status,
  message: textOf(body['NeutronError']?.['message']),
})

describe('an auto-allocated topology', () => {
  const path = (project = api.demoProject) => `auto-allocated-topology/${project}`
  const get = (query = '') => api.ask(api.demo, 'GET', `${path()}${query}`)
  const plan = () =>
    planNics(
      api.http.gateway.networks,
      { projectId: api.demoProject, isAdmin: false },
      { networks: 'auto', securityGroups: [], serversMax: 1 },
    )

  test('needs the engine, a default external network and a default subnet pool', async () => {
    expect((await get()).status).toBe(501)
    await expect(plan()).rejects.toThrow('Unable to automatically allocate a network')
    await api.connectOvn()
    expect(fault(await get())).toEqual({
      status: 409,
      message: 'Deployment error: No default router:external network.',
    })
    expect((await api.refusal(api.admin, 'networks', { is_default: true })).status).toBe(400)
    const external = { 'router:external': true, is_default: true }
    expect((await api.refusal(api.demo, 'networks', external)).status).toBe(403)
    const outside = await api.network(api.admin, external)
    await api.subnet(idOf(outside), api.admin, { cidr: '203.0.113.0/24' })
    expect(outside).toMatchObject({ is_default: true })
    expect(await api.refusal(api.admin, 'networks', external)).toEqual({
      status: 409,
      message: `A default external network already exists: ${idOf(outside)}.`,
    })
    const other = await api.network(api.admin, { 'router:external': true })
    const second = await api.ask(api.admin, 'PUT', `networks/${idOf(other)}`, {
      network: { is_default: true },
    })
    expect(second.status).toBe(409)
    expect((await api.list(api.admin, 'networks', 'is_default=true')).map(idOf)).toEqual([
      idOf(outside),
    ])
    expect(fault(await get('?fields=dry-run'))).toEqual({
      status: 409,
      message: 'Deployment error: No default subnetpools defined.',
    })

    for (const prefixes of [['10.240.0.0/16'], ['fd00:1::/48']])
      await api.make(api.admin, 'subnetpools', {
        prefixes,
        shared: true,
        is_default: true,
        ...(prefixes[0] === '10.240.0.0/16' && { default_prefixlen: 26 }),
      })

    expect((await get('?fields=dry-run')).body['auto_allocated_topology']).toEqual({
      id: 'dry-run=pass',
      project_id: api.demoProject,
      tenant_id: api.demoProject,
    })
    expect(await api.list(api.demo, 'routers')).toEqual([])
  })

  test('is made once of several requests, and is given to a boot that asks for some network', async () => {
    const replies = await Promise.all([get(), get(), get()])
    const { nics } = await plan()

    const ids = replies.map(({ body }) => body['auto_allocated_topology']?.['id'])
    expect(new Set(ids).size).toBe(1)
    expect(nics.map(({ network }) => network.id)).toEqual([ids[0]])
    expect(await api.list(api.demo, 'routers')).toMatchObject([
      { name: 'auto_allocated_router', external_gateway_info: { enable_snat: true } },
    ])
    expect(await api.list(api.demo, 'networks', 'name=auto_allocated_network')).toHaveLength(1)
    const subnets = await api.list(
      api.demo,
      'subnets',
      `network_id=${textOf(ids[0])}&sort_key=ip_version`,
    )
    expect(subnets).toMatchObject([
      { name: 'auto_allocated_subnet_v4', cidr: '10.240.0.0/26' },
      { name: 'auto_allocated_subnet_v6', cidr: 'fd00:1::/64' },
    ])
    expect(await api.list(api.demo, 'ports', 'device_owner=network:router_interface')).toHaveLength(
      2,
    )
    expect((await api.ask(api.demo, 'GET', path(api.adminProject))).status).toBe(404)
    const own = await api.ask(api.demo, 'GET', path('None'))
    expect(own.body['auto_allocated_topology']).toMatchObject({ id: ids[0] })
  })

  test('goes whole, and not while its network is used', async () => {
    const id = textOf((await get()).body['auto_allocated_topology']?.['id'])
    const port = await api.make(api.demo, 'ports', { network_id: id })

    expect((await api.ask(api.demo, 'DELETE', path())).status).toBe(409)
    expect(await api.list(api.demo, 'routers')).toHaveLength(1)
    await api.ask(api.demo, 'DELETE', `ports/${idOf(port)}`)
    expect((await api.ask(api.demo, 'DELETE', path())).status).toBe(204)

    for (const each of ['networks', 'subnets', 'routers', 'ports'])
      expect(await api.list(api.demo, each, `project_id=${api.demoProject}`)).toEqual([])
    expect((await api.ask(api.demo, 'DELETE', path())).status).toBe(204)
    const again = textOf((await get()).body['auto_allocated_topology']?.['id'])
    expect(again).not.toBe(id)
  })

  test('that cannot be made leaves nothing', async () => {
    await api.ask(api.demo, 'DELETE', path())
    await api.ask(api.admin, 'PUT', `quotas/${api.demoProject}`, { quota: { subnet: 0 } })

    expect((await get()).status).toBe(409)

    for (const each of ['networks', 'routers', 'ports'])
      expect(await api.list(api.demo, each, `project_id=${api.demoProject}`)).toEqual([])
    await api.ask(api.admin, 'DELETE', `quotas/${api.demoProject}`)
  })
})

test('the addresses of a network are counted for administrators', async () => {
  const network = await api.network(api.demo, { name: 'counted' })
  const allocation_pools = [{ start: '198.51.100.10', end: '198.51.100.19' }]
  const four = await api.subnet(idOf(network), api.demo, {
    cidr: '198.51.100.0/24',
    allocation_pools,
  })
  const six = await api.subnet(idOf(network), api.demo, { cidr: '2001:db8::/64', ip_version: 6 })
  await api.make(api.demo, 'ports', { network_id: idOf(network) })
  const show = (token: string, rest: string) =>
    api.ask(token, 'GET', `network-ip-availabilities${rest}`)

  const one = await show(api.admin, `/${idOf(network)}`)
  const listed = await show(api.admin, '?network_name=counted&ip_version=4')

  const of4 = {
    subnet_id: idOf(four),
    subnet_name: '',
    cidr: '198.51.100.0/24',
    ip_version: 4,
    total_ips: 10,
    used_ips: 1,
  }
  expect(one.body['network_ip_availability']).toMatchObject({
    network_id: idOf(network),
    network_name: 'counted',
    project_id: api.demoProject,
    used_ips: 2,
    total_ips: 2 ** 64,
    subnet_ip_availability: [of4, { subnet_id: idOf(six), used_ips: 1 }],
  })
  expect(listed.body['network_ip_availabilities']).toMatchObject([
    { total_ips: 10, used_ips: 1, subnet_ip_availability: [of4] },
  ])
  expect((await show(api.demo, '')).status).toBe(403)
  expect((await show(api.admin, `/${randomUUID()}`)).status).toBe(404)
  expect((await show(api.admin, '?name=x')).status).toBe(400)
})

test('address scopes do not exist, and cannot be created', async () => {
  expect(await api.list(api.demo, 'address-scopes')).toEqual([])
  const made = await api.ask(api.demo, 'POST', 'address-scopes', { address_scope: { name: 'x' } })
  expect(made.status).toBe(501)
  expect((await api.ask(api.demo, 'GET', `address-scopes/${randomUUID()}`)).status).toBe(404)
  expect((await api.ask(api.demo, 'GET', 'extensions/address-scope')).status).toBe(404)
})
