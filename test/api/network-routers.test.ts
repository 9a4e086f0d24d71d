import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Reply } from './identity-world.ts'
import { listOf, textOf } from './json.ts'
import { idOf, type NetworkApi, networkApi } from './network-api.ts'

let api: NetworkApi

beforeAll(async () => {
  api = await networkApi()
})

afterAll(async () => {
  await api?.[Symbol.asyncDispose]()
})

const router = async (fields: object = {}, token = api.demo) =>
  idOf(await api.make(token, 'routers', { name: 'r', ...fields }))
const put = (token: string, path: string, body: object) => api.ask(token, 'PUT', path, body)
const change = (id: string, fields: object, token = api.demo) =>
  put(token, `routers/${id}`, { router: fields })
const act = (id: string, action: string, body: object, token = api.demo) =>
  put(token, `routers/${id}/${action}`, body)
const attach = (id: string, subnet_id: string, token = api.demo) =>
  act(id, 'add_router_interface', { subnet_id }, token)
const fault = ({ status, body }: Reply) => ({
  status,
  type: body['NeutronError']?.['type'],
  message: textOf(body['NeutronError']?.['message']),
})

let subnets = 0
/** A subnet of a network of its own, with its range. */
async function subnet(token = api.demo, fields: object = {}) {
  subnets += 1
  const network = idOf(await api.network(token))
  const cidr = `10.200.${subnets}.0/24`
  const made = await api.subnet(network, token, { cidr, ...fields })
  return { network, id: idOf(made), prefix: `10.200.${subnets}` }
}

/** An external network with a subnet, of its own range. */
async function external() {
  const network = idOf(await api.network(api.admin, { 'router:external': true }))
  subnets += 1
  const prefix = `203.0.${subnets}`
  const made = await api.subnet(network, api.admin, { cidr: `${prefix}.0/24`, enable_dhcp: false })
  return { network, id: idOf(made), prefix }
}

// First, because no cell has the engine yet.
test('a router is refused while no cell could route', async () => {
  expect(await api.refusal(api.demo, 'routers', {})).toEqual({
    status: 501,
    message: expect.stringContaining('A router would have no effect'),
  })
  expect(await api.list(api.demo, 'routers')).toEqual([])
  expect((await api.ask(api.demo, 'GET', 'extensions/router')).status).toBe(404)
  await api.connectOvn()
  expect((await api.ask(api.demo, 'GET', 'extensions/router')).status).toBe(200)
})

describe('a router', () => {
  test('is made, shown, listed, changed and deleted', async () => {
    const made = await api.make(api.demo, 'routers', { name: 'one', description: 'd' })
    const id = idOf(made)

    expect(made).toMatchObject({
      name: 'one',
      description: 'd',
      status: 'ACTIVE',
      admin_state_up: true,
      external_gateway_info: null,
      routes: [],
      revision_number: 1,
      project_id: api.demoProject,
    })
    expect(made).not.toHaveProperty('ha')
    const changed = await change(id, { name: 'two', admin_state_up: false })
    expect(changed.body['router']).toMatchObject({ name: 'two', revision_number: 2 })
    expect(
      (await api.list(api.demo, 'routers', 'name=two&admin_state_up=false')).map(idOf),
    ).toEqual([id])
    expect((await api.list(api.admin, 'routers', `id=${id}`))[0]).toMatchObject({ ha: true })
    await put(api.demo, `routers/${id}/tags`, { tags: ['a'] })
    expect(await api.list(api.demo, 'routers', 'tags=a&fields=id')).toEqual([{ id }])
    expect((await api.askFor(1, 'DELETE', `routers/${id}`)).status).toBe(412)
    expect((await api.ask(api.demo, 'DELETE', `routers/${id}`)).status).toBe(204)
    expect(fault(await api.ask(api.demo, 'GET', `routers/${id}`))).toEqual({
      status: 404,
      type: 'RouterNotFound',
      message: `Router ${id} could not be found`,
    })
  })

  test('of another project is not found', async () => {
    const id = await router({}, api.admin)
    for (const [method, path, body] of [
      ['GET', '', undefined],
      ['DELETE', '', undefined],
      ['PUT', '', { router: {} }],
      ['PUT', '/add_router_interface', { subnet_id: id }],
    ] as const)
      expect((await api.ask(api.demo, method, `routers/${id}${path}`, body)).status).toBe(404)
    expect((await api.refusal(api.demo, 'routers', { project_id: api.adminProject })).status).toBe(
      403,
    )
  })

  test('is counted: of several requests for the last one, one gets it', async () => {
    const used = (await api.list(api.admin, 'routers', `project_id=${api.demoProject}`)).length
    await put(api.admin, `quotas/${api.demoProject}`, { quota: { router: used + 1 } })

    const replies = await Promise.all(
      [1, 2, 3, 4].map(() => api.ask(api.demo, 'POST', 'routers', { router: {} })),
    )

    expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      201, 409, 409, 409,
    ])
    expect(fault(replies.find(({ status }) => status === 409)!)).toMatchObject({
      type: 'OverQuota',
    })
    await put(api.admin, `quotas/${api.demoProject}`, { quota: { router: -1 } })
  })
})

describe('an interface', () => {
  test('is the gateway of its subnet, and keeps the router, the subnet and the port', async () => {
    const id = await router()
    const on = await subnet()

    const added = await attach(id, on.id)

    const portId = textOf(added.body['port_id'])
    expect(added.body).toMatchObject({
      id,
      subnet_id: on.id,
      subnet_ids: [on.id],
      network_id: on.network,
      project_id: api.demoProject,
    })
    expect((await api.ask(api.demo, 'GET', `ports/${portId}`)).body['port']).toMatchObject({
      device_id: id,
      device_owner: 'network:router_interface',
      status: 'ACTIVE',
      fixed_ips: [{ subnet_id: on.id, ip_address: `${on.prefix}.1` }],
      port_security_enabled: false,
      security_groups: [],
    })
    expect(fault(await api.ask(api.demo, 'DELETE', `routers/${id}`))).toEqual({
      status: 409,
      type: 'RouterInUse',
      message: `Router ${id} has ports still attached: ${portId}`,
    })
    expect(fault(await api.ask(api.demo, 'DELETE', `ports/${portId}`))).toMatchObject({
      status: 409,
      type: 'ServicePortInUse',
    })
    for (const fields of [{ fixed_ips: [] }, { device_id: '' }])
      expect((await put(api.admin, `ports/${portId}`, { port: fields })).status).toBe(409)
    expect((await api.ask(api.demo, 'DELETE', `subnets/${on.id}`)).status).toBe(409)
    const moved = await put(api.demo, `subnets/${on.id}`, {
      subnet: { gateway_ip: `${on.prefix}.9` },
    })
    expect(fault(moved)).toMatchObject({ status: 409 })

    const removed = await act(id, 'remove_router_interface', { subnet_id: on.id })

    expect(removed.body).toEqual(added.body)
    expect((await api.ask(api.demo, 'GET', `ports/${portId}`)).status).toBe(404)
    expect(fault(await act(id, 'remove_router_interface', { subnet_id: on.id }))).toMatchObject({
      status: 404,
      type: 'RouterInterfaceNotFoundForSubnet',
    })
    expect((await api.ask(api.demo, 'DELETE', `routers/${id}`)).status).toBe(204)
  })

  test('may be a port that is free, with its address', async () => {
    const id = await router()
    const on = await subnet()
    const fixed_ips = [{ subnet_id: on.id, ip_address: `${on.prefix}.77` }]
    const port = idOf(await api.make(api.demo, 'ports', { network_id: on.network, fixed_ips }))
    const used = await api.make(api.demo, 'ports', { network_id: on.network, device_id: 'other' })
    const bare = await api.make(api.demo, 'ports', { network_id: on.network, fixed_ips: [] })

    const added = await act(id, 'add_router_interface', { port_id: port })

    expect(added.body).toMatchObject({ port_id: port, subnet_id: on.id })
    expect((await api.ask(api.demo, 'GET', `ports/${port}`)).body['port']).toMatchObject({
      device_id: id,
      fixed_ips,
      status: 'ACTIVE',
    })
    const other = await router()
    expect(fault(await act(other, 'add_router_interface', { port_id: port }))).toMatchObject({
      status: 409,
      type: 'PortInUse',
    })
    expect((await act(other, 'add_router_interface', { port_id: idOf(used) })).status).toBe(409)
    expect(
      fault(await act(other, 'add_router_interface', { port_id: idOf(bare) })).message,
    ).toContain('at least one fixed IP')
    expect((await act(id, 'remove_router_interface', { port_id: port })).status).toBe(200)
    expect((await api.ask(api.demo, 'GET', `ports/${port}`)).status).toBe(404)
  })

  test('is created once by several requests for one subnet, on any of the routers', async () => {
    const on = await subnet()
    const ids = [await router(), await router()]

    const replies = await Promise.all([...ids, ...ids].map((id) => attach(id, on.id)))

    // The second router finds the gateway's address taken.
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(await api.list(api.demo, 'ports', `network_id=${on.network}`)).toHaveLength(1)
  })

  test('shares its port with other IPv6 subnets of the network', async () => {
    const id = await router()
    const network = idOf(await api.network())
    const six = async (cidr: string) =>
      idOf(await api.subnet(network, api.demo, { cidr, ip_version: 6 }))
    const [one, two] = [await six('2001:db8:1::/64'), await six('2001:db8:2::/64')]

    const first = await attach(id, one)
    const second = await attach(id, two)

    expect(second.body['port_id']).toBe(first.body['port_id'])
    await act(id, 'remove_router_interface', { subnet_id: one })
    const port = await api.ask(api.demo, 'GET', `ports/${textOf(first.body['port_id'])}`)
    expect(port.body['port']).toMatchObject({ fixed_ips: [{ subnet_id: two }] })
    await act(id, 'remove_router_interface', { subnet_id: two })
    expect(await api.list(api.demo, 'ports', `network_id=${network}`)).toEqual([])
  })

  test("is refused in Neutron's words", async () => {
    const id = await router()
    const on = await subnet()
    await attach(id, on.id)
    const bare = await subnet(api.demo, { gateway_ip: null })
    const overlapping = await subnet(api.demo, { cidr: `${on.prefix}.0/25` })
    const shared = idOf(await api.network(api.admin, { shared: true }))
    const foreign = idOf(await api.subnet(shared, api.admin))
    const refused = async (body: object, message: string, status = 400) =>
      expect(fault(await act(id, 'add_router_interface', body))).toEqual({
        status,
        type: status === 400 ? 'BadRequest' : expect.any(String),
        message: expect.stringContaining(message),
      })

    await refused({}, 'Either subnet_id or port_id must be specified')
    await refused({ subnet_id: on.id, port_id: randomUUID() }, 'Cannot specify both')
    await refused({ subnet_id: on.id }, `Router already has a port on subnet ${on.id}`)
    await refused({ subnet_id: bare.id }, 'must have a gateway IP')
    await refused({ subnet_id: overlapping.id }, 'overlaps with cidr')
    await refused({ subnet_id: foreign }, 'is not owned by project making the request')
    await refused({ subnet_id: randomUUID() }, 'could not be found', 404)
    await refused({ port_id: randomUUID() }, 'could not be found', 404)
    expect(
      fault(await act(id, 'remove_router_interface', { port_id: randomUUID() })),
    ).toMatchObject({ status: 404, type: 'RouterInterfaceNotFound' })
  })
})

describe('a gateway', () => {
  test('has an address of an external network, moves and goes', async () => {
    const out = await external()
    const other = await external()

    const id = await router({ external_gateway_info: { network_id: out.network } })

    const { body } = await api.ask(api.demo, 'GET', `routers/${id}`)
    expect(body['router']).toMatchObject({
      external_gateway_info: {
        network_id: out.network,
        enable_snat: true,
        external_fixed_ips: [
          { subnet_id: out.id, ip_address: expect.stringMatching(`^${out.prefix}\\.`) },
        ],
      },
    })
    // Of no project, so that users neither see it nor pay for it.
    expect(await api.list(api.demo, 'ports', `device_id=${id}`)).toEqual([])
    expect(await api.list(api.admin, 'ports', `device_id=${id}`)).toMatchObject([
      { device_owner: 'network:router_gateway', project_id: '', status: 'ACTIVE' },
    ])
    expect((await api.ask(api.admin, 'DELETE', `networks/${out.network}`)).status).toBe(409)
    expect(
      fault(
        await put(api.admin, `networks/${out.network}`, { network: { 'router:external': false } }),
      ),
    ).toMatchObject({ status: 409, type: 'ExternalNetworkInUse' })

    await change(id, { external_gateway_info: { network_id: other.network } })
    const [moved] = await api.list(api.admin, 'ports', `device_id=${id}`)
    expect(moved).toMatchObject({ network_id: other.network })
    const gone = await change(id, { external_gateway_info: {} })
    expect(gone.body['router']).toMatchObject({ external_gateway_info: null })
    expect(await api.list(api.admin, 'ports', `device_id=${id}`)).toEqual([])
  })

  test('has the address and the SNAT that an administrator chooses', async () => {
    const out = await external()
    const at = (last: number) => [{ subnet_id: out.id, ip_address: `${out.prefix}.${last}` }]
    const info = (last: number, more: object = {}) => ({
      external_gateway_info: { network_id: out.network, external_fixed_ips: at(last), ...more },
    })

    const id = await router(info(50, { enable_snat: false }), api.admin)
    const [before] = await api.list(api.admin, 'ports', `device_id=${id}`)
    const moved = await change(id, info(51), api.admin)
    const [after] = await api.list(api.admin, 'ports', `device_id=${id}`)

    expect(before).toMatchObject({ fixed_ips: at(50) })
    expect(idOf(after!)).toBe(idOf(before!))
    expect(moved.body['router']).toMatchObject({
      external_gateway_info: { enable_snat: true, external_fixed_ips: at(51) },
    })
    expect((await change(await router(), info(60))).status).toBe(403)
    for (const more of [{ enable_snat: false }, { external_fixed_ips: at(61) }])
      expect(
        (
          await api.refusal(api.demo, 'routers', {
            external_gateway_info: { network_id: out.network, ...more },
          })
        ).status,
      ).toBe(403)
    expect((await api.refusal(api.demo, 'routers', { ha: true })).status).toBe(403)
    expect((await api.refusal(api.admin, 'routers', { ha: false })).status).toBe(400)
    expect((await api.refusal(api.admin, 'routers', info(51))).status).toBe(409)
    expect((await api.refusal(api.admin, 'routers', info(1))).message).toContain(
      'is the same as the gateway IP',
    )
  })

  test('is refused on other networks, and where its subnets overlap', async () => {
    const id = await router()
    const inner = await subnet()
    const out = await external()
    const overlapping = await subnet(api.demo, { cidr: `${out.prefix}.0/25` })
    await attach(id, overlapping.id)
    const asked = async (network_id: string) =>
      fault(await change(id, { external_gateway_info: { network_id } }))

    expect(await asked(inner.network)).toMatchObject({
      status: 400,
      message: expect.stringContaining('is not an external network'),
    })
    expect(await asked(out.network)).toMatchObject({
      status: 400,
      message: expect.stringContaining('overlaps with cidr'),
    })
    expect(await asked(randomUUID())).toMatchObject({ status: 404 })
    expect(
      await api.list(api.admin, 'ports', `device_id=${id}&device_owner=network:router_gateway`),
    ).toEqual([])
  })
})

describe('routes of a router', () => {
  test('lead over its subnets, are added and removed, and keep their interface', async () => {
    const id = await router()
    const on = await subnet()
    await attach(id, on.id)
    const route = (n: number) => ({
      destination: `192.168.${n}.0/24`,
      nexthop: `${on.prefix}.${n}`,
    })
    const routesOf = (reply: Reply) => listOf(reply.body['router']?.['routes'])

    expect(routesOf(await change(id, { routes: [route(5)] }))).toEqual([route(5)])
    const added = await Promise.all(
      [6, 7].map((n) => act(id, 'add_extraroutes', { router: { routes: [route(n), route(5)] } })),
    )
    expect(added.map(({ status }) => status)).toEqual([200, 200])
    const left = await act(id, 'remove_extraroutes', { router: { routes: [route(6), route(9)] } })
    expect(new Set(routesOf(left).map(({ nexthop }) => nexthop))).toEqual(
      new Set([route(5).nexthop, route(7).nexthop]),
    )
    expect(fault(await act(id, 'remove_router_interface', { subnet_id: on.id }))).toMatchObject({
      status: 409,
      type: 'RouterInterfaceInUseByRoute',
    })
    for (const [bad, why] of [
      [{ ...route(5), nexthop: '198.51.100.1' }, 'not connected with router'],
      [{ ...route(5), nexthop: `${on.prefix}.1` }, 'used by router'],
      [{ ...route(5), destination: 'nonsense' }, "'nonsense' is not a valid IP subnet"],
      [{ ...route(5), destination: '2001:db8::/64' }, 'different IP versions'],
    ] as const)
      expect(fault(await change(id, { routes: [bad] }))).toMatchObject({
        status: 400,
        message: expect.stringContaining(why),
      })
    const many = Array.from({ length: 31 }, (_, n) => route(n + 2))
    expect(fault(await change(id, { routes: many }))).toMatchObject({ type: 'RoutesExhausted' })
    expect((await change(id, { routes: null })).body['router']).toMatchObject({ routes: [] })
  })
})
