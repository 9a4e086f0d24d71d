import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import type { Json, Reply } from './identity-world.ts'
import { textOf } from './json.ts'
import { idOf, type NetworkApi, networkApi } from './network-api.ts'

let api: NetworkApi
let outside: string

beforeAll(async () => {
  api = await networkApi()
  await api.connectOvn()
  outside = idOf(await api.network(api.admin, { 'router:external': true }))
  await api.subnet(outside, api.admin, { cidr: '203.0.113.0/24' })
  const quota = { router: -1, floatingip: -1, network: -1, subnet: -1, port: -1 }
  await put(`quotas/${api.demoProject}`, { quota }, api.admin)
})

afterAll(async () => {
  await api?.[Symbol.asyncDispose]()
})

const put = (path: string, body: object, token = api.demo) => api.ask(token, 'PUT', path, body)
const fault = ({ status, body }: Reply) => ({
  status,
  type: body['NeutronError']?.['type'],
  message: textOf(body['NeutronError']?.['message']),
})
const take = async () =>
  idOf(await api.make(api.demo, 'floatingips', { floating_network_id: outside }))
const shown = async (ip: string) =>
  (await api.ask(api.demo, 'GET', `floatingips/${ip}`)).body['floatingip']!
const forward = (ip: string, fields: object, token = api.demo) =>
  api.ask(token, 'POST', `floatingips/${ip}/port_forwardings`, {
    port_forwarding: { protocol: 'tcp', ...fields },
  })
const refused = async (ip: string, fields: object, token = api.demo) =>
  fault(await forward(ip, fields, token))
const forwarded = async (ip: string, fields: object): Promise<Json> => {
  const reply = await forward(ip, fields)
  if (reply.status !== 201) throw new Error(JSON.stringify(reply.body))
  return reply.body['port_forwarding']!
}
const change = (ip: string, id: string, fields: object) =>
  put(`floatingips/${ip}/port_forwardings/${id}`, { port_forwarding: fields })

/** A network with a subnet on a router to the outside. */
async function routed() {
  const network = idOf(await api.network())
  const subnet = idOf(await api.subnet(network))
  const info = { external_gateway_info: { network_id: outside } }
  const router = idOf(await api.make(api.demo, 'routers', info))
  await put(`routers/${router}/add_router_interface`, { subnet_id: subnet })
  return { network, subnet, router }
}

async function portOn(network_id: string, fields: object = {}) {
  const port = await api.make(api.demo, 'ports', { network_id, ...fields })
  const [{ ip_address }] = port['fixed_ips'] as unknown as [{ ip_address: string }]
  return { id: idOf(port), address: ip_address }
}

describe('a port forwarding', () => {
  test('is made, shown with its floating IP, listed, changed and ended', async () => {
    const { network, router } = await routed()
    const [first, second] = [await portOn(network), await portOn(network)]
    const ip = await take()

    const made = await forwarded(ip, {
      internal_port_id: first.id,
      internal_port: 22,
      external_port: 2222,
      description: 'shell',
    })

    const id = idOf(made)
    expect(made).toEqual({
      id,
      description: 'shell',
      protocol: 'tcp',
      internal_port_id: first.id,
      internal_ip_address: first.address,
      internal_port: 22,
      internal_port_range: '22:22',
      external_port: 2222,
      external_port_range: '2222:2222',
    })
    expect(await shown(ip)).toMatchObject({
      status: 'ACTIVE',
      port_id: null,
      router_id: router,
      revision_number: 2,
      port_forwardings: [
        {
          id,
          protocol: 'tcp',
          internal_port_id: first.id,
          internal_ip_address: first.address,
          internal_port: 22,
          external_port: 2222,
        },
      ],
    })
    expect(await api.list(api.demo, 'floatingips', `id=${ip}&status=DOWN`)).toEqual([])
    const path = `floatingips/${ip}/port_forwardings`
    const [listed] = (await api.ask(api.demo, 'GET', `${path}?external_port=2222&protocol=tcp`))
      .body['port_forwardings'] as unknown as readonly Json[]
    expect(listed).toEqual(made)
    const shownId = await api.ask(api.demo, 'GET', `${path}/${id}?fields=id`)
    expect(shownId.body['port_forwarding']).toEqual({ id })

    const changed = await change(ip, id, { internal_port_id: second.id, external_port: 2223 })
    expect(changed.body['port_forwarding']).toMatchObject({
      internal_port_id: second.id,
      internal_ip_address: second.address,
      internal_port: 22,
      external_port: 2223,
    })

    expect((await api.ask(api.demo, 'DELETE', `${path}/${id}`)).status).toBe(204)
    expect(fault(await api.ask(api.demo, 'GET', `${path}/${id}`))).toEqual({
      status: 404,
      type: 'PortForwardingNotFound',
      message: `Port Forwarding ${id} could not be found.`,
    })
    expect(await shown(ip)).toMatchObject({ status: 'DOWN', router_id: null })
  })

  test('is named where packets to its floating IP are asked about', async () => {
    const { network } = await routed()
    const { id: internal_port_id } = await portOn(network)
    const ip = await take()
    await forwarded(ip, { internal_port_id, internal_port: 22, external_port: 2222 })
    const address = textOf((await shown(ip))['floating_ip_address'])

    const path = `/federation/v1/network-path?from=198.51.100.7&to=${address}`
    const { status, body } = await api.http.ask('GET', path, { token: api.admin })

    expect(status).toBe(409)
    expect(JSON.stringify(body)).toContain(
      `These ports are forwarded: tcp 2222 to port ${internal_port_id}, 22.`,
    )
  })

  test('is of as many ports inside as outside, or of one inside', async () => {
    const { network } = await routed()
    const { id: internal_port_id } = await portOn(network)
    const ip = await take()
    const ranges = { internal_port_id, internal_port_range: '80:89', external_port_range: '80:89' }

    expect(await forwarded(ip, ranges)).toMatchObject({
      internal_port: null,
      internal_port_range: '80:89',
      external_port: null,
      external_port_range: '80:89',
    })
    expect(
      await forwarded(ip, { internal_port_id, internal_port: 22, external_port_range: '20:29' }),
    ).toMatchObject({ internal_port: 22, external_port: null })

    for (const [fields, why] of [
      [{ ...ranges, external_port_range: '180:185' }, 'must be N-N or 1-N'],
      [{ ...ranges, external_port_range: '99:90' }, 'must be a value between 1 and 65535'],
      [{ ...ranges, external_port_range: '1000:2000' }, 'has more than 1000 ports'],
      [{ internal_port_id, internal_port: 1 }, 'are needed'],
    ] as const)
      expect(await refused(ip, fields)).toMatchObject({
        status: 400,
        message: expect.stringContaining(why),
      })
  })

  test('has its ports for itself, at the floating IP and at the server', async () => {
    const { network } = await routed()
    const [first, second] = [await portOn(network), await portOn(network)]
    const ip = await take()
    const to = (id: string, internal_port: number, external_port: number) => {
      return { internal_port_id: id, internal_port, external_port }
    }
    const made = await forwarded(ip, to(first.id, 22, 2222))
    await forwarded(ip, { ...to(first.id, 22, 2222), protocol: 'udp' })
    const other = await forwarded(ip, to(second.id, 22, 2223))

    expect(await refused(ip, to(second.id, 23, 2222))).toEqual({
      status: 400,
      type: 'BadRequest',
      message:
        'Bad port_forwarding request: There is a port collision with the external_port_range. The following ranges collide: 2222:2222 and 2222:2222.',
    })
    expect(await refused(await take(), to(first.id, 22, 99))).toMatchObject({
      status: 400,
      message: expect.stringContaining('collision with the internal_port_range'),
    })
    expect((await change(ip, idOf(other), { external_port: 2222 })).status).toBe(400)
    expect((await change(ip, idOf(made), { external_port: 2222 })).status).toBe(200)
    const atOnce = [forward(ip, to(first.id, 80, 80)), forward(ip, to(second.id, 80, 80))]
    const statuses = (await Promise.all(atOnce)).map(({ status }) => status)
    expect(statuses.toSorted((a, b) => a - b)).toEqual([201, 400])
  })

  test('and an association exclude each other', async () => {
    const { network } = await routed()
    const [plain, associated] = [await portOn(network), await portOn(network)]
    const [ip, whole] = [await take(), await take()]
    const fields = { internal_port: 22, external_port: 22 }
    await put(`floatingips/${whole}`, { floatingip: { port_id: associated.id } })

    expect(await refused(whole, { ...fields, internal_port_id: plain.id })).toMatchObject({
      status: 409,
      type: 'FloatingIPPortAlreadyAssociated',
    })
    expect(await refused(ip, { ...fields, internal_port_id: associated.id })).toMatchObject({
      status: 409,
      type: 'PortHasBindingFloatingIP',
    })
    await forwarded(ip, { ...fields, internal_port_id: plain.id })
    const inUse = {
      status: 409,
      type: 'FipInUseByPortForwarding',
      message: `Floating IP ${ip} in use by Port Forwarding resources.`,
    }
    const association = { floatingip: { port_id: plain.id } }
    expect(fault(await put(`floatingips/${ip}`, association))).toEqual(inUse)
    expect(fault(await api.ask(api.demo, 'DELETE', `floatingips/${ip}`))).toEqual(inUse)
    const described = await put(`floatingips/${ip}`, { floatingip: { description: 'd' } })
    expect(described.status).toBe(200)
  })

  test('leads only to an address of a port that its router connects', async () => {
    const { network, router, subnet } = await routed()
    const elsewhere = await routed()
    const inside = await portOn(network)
    const there = await portOn(elsewhere.network)
    const island = await portOn(idOf(await api.networkWithSubnet()))
    const foreign = idOf(
      await api.make(api.admin, 'ports', {
        network_id: idOf(await api.networkWithSubnet(api.admin)),
      }),
    )
    const ip = await take()
    const fields = { internal_port: 22, external_port: 22 }

    for (const [internal, status, why] of [
      [{ internal_port_id: newId() }, 404, 'could not be found'],
      [{ internal_port_id: foreign }, 404, 'could not be found'],
      [{ internal_port_id: island.id }, 400, 'is not reachable from subnet'],
      [{ internal_port_id: inside.id, internal_ip_address: '10.9.9.9' }, 400, 'is not suitable'],
    ] as const)
      expect(await refused(ip, { ...fields, ...internal })).toMatchObject({
        status,
        message: expect.stringContaining(why),
      })
    await forwarded(ip, { ...fields, internal_port_id: inside.id })
    expect(
      await refused(ip, { internal_port: 1, external_port: 1, internal_port_id: there.id }),
    ).toMatchObject({ status: 400, message: expect.stringContaining('had been set on router') })
    const remove = { subnet_id: subnet }
    expect((await put(`routers/${router}/remove_router_interface`, remove)).status).toBe(409)
    const gateway = { router: { external_gateway_info: null } }
    expect((await put(`routers/${router}`, gateway)).status).toBe(409)
  })

  test('ends with the port or the address that it leads to', async () => {
    const { network } = await routed()
    const [going, moving] = [await portOn(network), await portOn(network)]
    const ip = await take()
    await forwarded(ip, { internal_port_id: going.id, internal_port: 1, external_port: 1 })
    await forwarded(ip, { internal_port_id: moving.id, internal_port: 2, external_port: 2 })

    await api.ask(api.demo, 'DELETE', `ports/${going.id}`)
    expect((await shown(ip))['port_forwardings']).toHaveLength(1)
    await put(`ports/${moving.id}`, { port: { fixed_ips: [] } })

    expect(await shown(ip)).toMatchObject({ status: 'DOWN', port_forwardings: [] })
    expect((await api.ask(api.demo, 'DELETE', `floatingips/${ip}`)).status).toBe(204)
  })

  test('is for its owner and administrators, and needs OVN', async () => {
    const { network } = await routed()
    const { id: internal_port_id } = await portOn(network)
    const ip = await take()
    const fields = { internal_port_id, internal_port: 22, external_port: 22 }
    const theirs = idOf(await api.make(api.admin, 'floatingips', { floating_network_id: outside }))

    expect(await refused(theirs, fields)).toMatchObject({ status: 404, type: 'FloatingIPNotFound' })
    expect((await forward(ip, fields, api.admin)).status).toBe(201)
    const { db } = api.http.gateway
    await db.orm.execute('update host_index set view = json_remove(view, "$.capabilities[0]")')
    expect(await refused(ip, { ...fields, external_port: 23 })).toMatchObject({
      status: 501,
      message: expect.stringContaining('A port forwarding would have no effect'),
    })
    await api.connectOvn()
  })
})
