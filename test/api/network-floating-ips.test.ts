import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Json, Reply } from './identity-world.ts'
import { textOf } from './json.ts'
import { idOf, type NetworkApi, networkApi } from './network-api.ts'

let api: NetworkApi
let outside: string
let outsideSubnet: string

beforeAll(async () => {
  api = await networkApi()
})

afterAll(async () => {
  await api?.[Symbol.asyncDispose]()
})

const put = (path: string, body: object, token = api.demo) => api.ask(token, 'PUT', path, body)
const change = (ip: string, fields: object, token = api.demo) =>
  put(`floatingips/${ip}`, { floatingip: fields }, token)
const fault = ({ status, body }: Reply) => ({
  status,
  type: body['NeutronError']?.['type'],
  message: textOf(body['NeutronError']?.['message']),
})
const shown = async (ip: string) =>
  (await api.ask(api.admin, 'GET', `floatingips/${ip}`)).body['floatingip']!
const take = (fields: object = {}, token = api.demo) =>
  api.make(token, 'floatingips', { floating_network_id: outside, ...fields })
const refused = (fields: object, token = api.demo) =>
  api
    .ask(token, 'POST', 'floatingips', { floatingip: { floating_network_id: outside, ...fields } })
    .then(fault)

/** A network with a subnet on a router to the outside. */
async function routed() {
  const network = idOf(await api.network())
  const subnet = idOf(await api.subnet(network))
  const info = { external_gateway_info: { network_id: outside } }
  const router = idOf(await api.make(api.demo, 'routers', info))
  await put(`routers/${router}/add_router_interface`, { subnet_id: subnet })
  return { network, subnet, router }
}

const port = (network_id: string, fields: object = {}): Promise<Json> =>
  api.make(api.demo, 'ports', { network_id, ...fields })

// First, because no cell has the engine yet.
test('a floating IP is refused while no cell could lead it anywhere', async () => {
  const plain = idOf(await api.network(api.admin, { shared: true }))
  expect(await refused({ floating_network_id: plain })).toMatchObject({ status: 400 })
  await api.connectOvn()
  outside = idOf(await api.network(api.admin, { 'router:external': true }))
  // The addresses above are for tests that choose one: any of a pool may be taken.
  const allocation_pools = [{ start: '203.0.113.2', end: '203.0.113.199' }]
  const range = { cidr: '203.0.113.0/24', allocation_pools }
  outsideSubnet = idOf(await api.subnet(outside, api.admin, range))
  const { db } = api.http.gateway
  await db.orm.execute('update host_index set view = json_remove(view, "$.capabilities[0]")')

  expect(await refused({})).toMatchObject({
    status: 501,
    message: expect.stringContaining('A floating IP would have no effect'),
  })
  await db.orm.execute(
    'update host_index set view = json_array_append(view, "$.capabilities", "network-ovn")',
  )
  await put(`quotas/${api.demoProject}`, { quota: { router: -1, floatingip: -1 } }, api.admin)
})

describe('a floating IP', () => {
  test('is taken, shown, listed, described and given back', async () => {
    const made = await take({ description: 'd' })

    const id = idOf(made)
    const address = textOf(made['floating_ip_address'])
    expect(made).toMatchObject({
      description: 'd',
      status: 'DOWN',
      floating_network_id: outside,
      floating_ip_address: expect.stringMatching(/^203\.0\.113\./),
      port_id: null,
      fixed_ip_address: null,
      router_id: null,
      port_details: null,
      project_id: api.demoProject,
    })
    expect(made).not.toHaveProperty('name')
    expect((await change(id, { description: 'e' })).body['floatingip']).toMatchObject({
      description: 'e',
      revision_number: 2,
    })
    const query = `floating_ip_address=${address}&status=DOWN&floating_network_id=${outside}`
    expect((await api.list(api.demo, 'floatingips', query)).map(idOf)).toEqual([id])
    expect((await api.ask(api.demo, 'GET', 'floatingips?name=x')).status).toBe(400)
    await put(`floatingips/${id}/tags`, { tags: ['a'] })
    expect(await api.list(api.demo, 'floatingips', 'tags=a&fields=id')).toEqual([{ id }])
    const [held] = await api.list(api.admin, 'ports', `device_id=${id}`)
    expect(held).toMatchObject({ device_owner: 'network:floatingip', project_id: '' })
    expect((await api.ask(api.admin, 'DELETE', `ports/${idOf(held!)}`)).status).toBe(409)

    expect((await api.ask(api.demo, 'DELETE', `floatingips/${id}`)).status).toBe(204)

    expect(fault(await api.ask(api.demo, 'GET', `floatingips/${id}`))).toEqual({
      status: 404,
      type: 'FloatingIPNotFound',
      message: `Floating IP ${id} could not be found`,
    })
    expect(await api.list(api.admin, 'ports', `device_id=${id}`)).toEqual([])
  })

  test('has the address an administrator chooses, once', async () => {
    const floating_ip_address = '203.0.113.200'

    const replies = await Promise.all(
      [1, 2, 3].map(() =>
        api.ask(api.admin, 'POST', 'floatingips', {
          floatingip: { floating_network_id: outside, floating_ip_address },
        }),
      ),
    )
    const inSubnet = await take({ subnet_id: outsideSubnet })

    expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409, 409])
    expect(textOf(inSubnet['floating_ip_address'])).toMatch(/^203\.0\.113\./)
    expect(await refused({ floating_ip_address: '203.0.113.201' })).toMatchObject({ status: 403 })
    expect(await refused({ floating_ip_address: '192.0.2.1' }, api.admin)).toMatchObject({
      status: 400,
    })
  })

  test('is counted: of several requests for the last one, one gets it', async () => {
    const used = (await api.list(api.admin, 'floatingips', `project_id=${api.demoProject}`)).length
    const quota = (floatingip: number) =>
      put(`quotas/${api.demoProject}`, { quota: { floatingip } }, api.admin)
    await quota(used + 1)

    const floatingip = { floating_network_id: outside }
    const replies = await Promise.all(
      [1, 2, 3, 4].map(() => api.ask(api.demo, 'POST', 'floatingips', { floatingip })),
    )
    await quota(-1)

    expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      201, 409, 409, 409,
    ])
    const ports = await api.list(api.admin, 'ports', 'device_owner=network:floatingip')
    expect(ports).toHaveLength((await api.list(api.admin, 'floatingips')).length)
  })

  test('leads to a port through the router of its subnet, and stops when asked', async () => {
    const { network, router } = await routed()
    const at = await port(network, { name: 'p' })

    const made = await take({ port_id: idOf(at) })

    const [{ ip_address: fixed }] = at['fixed_ips'] as unknown as [{ ip_address: string }]
    expect(made).toMatchObject({
      status: 'ACTIVE',
      port_id: idOf(at),
      fixed_ip_address: fixed,
      router_id: router,
      port_details: { name: 'p', network_id: network, device_owner: '', status: 'DOWN' },
    })
    const described = await change(idOf(made), { description: 'kept' })
    expect(described.body['floatingip']).toMatchObject({ port_id: idOf(at) })
    expect((await change(idOf(made), { port_id: null })).body['floatingip']).toMatchObject({
      port_id: null,
      fixed_ip_address: null,
      router_id: null,
      status: 'DOWN',
    })
  })

  test('leads to an interface of a router, as with Neutron', async () => {
    const { router } = await routed()
    const [inner] = await api.list(
      api.demo,
      'ports',
      `device_id=${router}&device_owner=network:router_interface`,
    )

    const made = await take({ port_id: idOf(inner!) })

    expect(made).toMatchObject({ port_id: idOf(inner!), router_id: router, status: 'ACTIVE' })
  })

  test('leads to the fixed address that is named, each of which has one', async () => {
    const { network, subnet } = await routed()
    const at = await port(network, { fixed_ips: [{ subnet_id: subnet }, { subnet_id: subnet }] })
    const [one, two] = (at['fixed_ips'] as unknown as { ip_address: string }[]).map(
      ({ ip_address }) => ip_address,
    )

    expect((await refused({ port_id: idOf(at) })).message).toContain(
      'multiple fixed IPv4 addresses',
    )
    const first = await take({ port_id: idOf(at), fixed_ip_address: one })
    const second = await take({ port_id: idOf(at), fixed_ip_address: two })
    const free = [await take(), await take()]

    const again = await change(idOf(free[0]!), { port_id: idOf(at), fixed_ip_address: one })
    expect(fault(again)).toMatchObject({ status: 409, type: 'FloatingIPPortAlreadyAssociated' })
    const moved = await change(idOf(second), { port_id: null })
    expect(moved.status).toBe(200)
    const raced = await Promise.all(
      [second, ...free].map((ip) => change(idOf(ip), { port_id: idOf(at), fixed_ip_address: two })),
    )
    expect(raced.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409, 409])
    expect(await shown(idOf(first))).toMatchObject({ fixed_ip_address: one })
  })

  test('keeps the gateway and the interface it needs', async () => {
    const { network, subnet, router } = await routed()
    await take({ port_id: idOf(await port(network)) })

    expect(
      fault(await put(`routers/${router}`, { router: { external_gateway_info: null } })),
    ).toMatchObject({
      status: 409,
      type: 'RouterExternalGatewayInUseByFloatingIp',
    })
    const removed = await put(`routers/${router}/remove_router_interface`, { subnet_id: subnet })
    expect(fault(removed)).toMatchObject({ status: 409, type: 'RouterInterfaceInUseByFloatingIP' })
  })

  test('leads nowhere any more when its port, or the address, goes', async () => {
    const { network, subnet } = await routed()
    const [one, two] = [await port(network), await port(network)]
    const first = await take({ port_id: idOf(one) })
    const second = await take({ port_id: idOf(two) })

    await api.ask(api.demo, 'DELETE', `ports/${idOf(one)}`)
    await put(`ports/${idOf(two)}`, { port: { fixed_ips: [] } })

    for (const ip of [first, second])
      expect(await shown(idOf(ip))).toMatchObject({
        status: 'DOWN',
        port_id: null,
        router_id: null,
        revision_number: 2,
      })
    const [left] = await api.list(api.demo, 'ports', `network_id=${network}&device_owner=`)
    expect(left).toMatchObject({ fixed_ips: [] })
    expect((await api.list(api.demo, 'subnets', `id=${subnet}`)).map(idOf)).toEqual([subnet])
  })

  test("is refused in Neutron's words", async () => {
    const { network, subnet } = await routed()
    const lonely = await api.networkWithSubnet()
    const foreign = await api.make(api.admin, 'ports', {
      network_id: idOf(await api.networkWithSubnet(api.admin)),
    })
    const theirs = await api.make(api.admin, 'ports', { network_id: network })
    const bare = await port(network, { fixed_ips: [] })
    const good = await port(network, { fixed_ips: [{ subnet_id: subnet }] })
    const missing = randomUUID()
    const six = idOf(await api.network(api.admin, { 'router:external': true }))

    for (const [fields, status, type, message] of [
      [{ floating_network_id: missing }, 404, 'HTTPNotFound', 'could not be found'],
      [{ floating_network_id: idOf(lonely) }, 400, 'BadRequest', 'not a valid external network'],
      [{ floating_network_id: six }, 400, 'BadRequest', 'does not contain any IPv4 subnet'],
      [{ port_id: missing }, 404, 'PortNotFound', `Port ${missing} could not be found.`],
      [{ port_id: idOf(foreign) }, 404, 'PortNotFound', 'could not be found'],
      [{ port_id: idOf(theirs) }, 400, 'BadRequest', 'owned by a different project'],
      [{ port_id: idOf(bare) }, 400, 'BadRequest', 'no fixed IPv4 addresses'],
      [
        { port_id: idOf(good), fixed_ip_address: '198.51.100.1' },
        400,
        'BadRequest',
        'does not have fixed ip',
      ],
      [
        { port_id: idOf(good), fixed_ip_address: '2001:db8::1' },
        400,
        'BadRequest',
        'not an IPv4 address',
      ],
      [{ fixed_ip_address: '198.51.100.1' }, 400, 'BadRequest', 'without a port_id'],
      [
        { port_id: idOf(await port(idOf(lonely))) },
        404,
        'ExternalGatewayForFloatingIPNotFound',
        'is not reachable from subnet',
      ],
    ] as const)
      expect(await refused(fields)).toEqual({
        status,
        type,
        message: expect.stringContaining(message),
      })
    for (const device_owner of ['network:dhcp', 'network:distributed']) {
      const service = await api.make(api.admin, 'ports', { network_id: network, device_owner })
      expect(await refused({ port_id: idOf(service) }, api.admin)).toMatchObject({
        status: 400,
        type: 'BadRequest',
        message: expect.stringContaining('unable to be assigned'),
      })
    }
    const own = idOf(await take({}, api.admin))
    expect((await change(own, {})).status).toBe(404)
    expect(await refused({ project_id: api.adminProject })).toMatchObject({ status: 403 })
  })
})
