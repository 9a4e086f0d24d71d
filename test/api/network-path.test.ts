import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Json } from './identity-world.ts'
import { textOf } from './json.ts'
import { idOf, type NetworkApi, networkApi } from './network-api.ts'

let api: NetworkApi

beforeAll(async () => {
  api = await networkApi()
  await api.connectOvn()
})
afterAll(async () => {
  await api?.[Symbol.asyncDispose]()
})

const explain = (query: Readonly<Record<string, string>>, token = api.admin) =>
  api.http.ask('GET', `/federation/v1/network-path?${new URLSearchParams(query).toString()}`, {
    token,
  })
const addressOf = (port: Json) => textOf((port['fixed_ips'] as unknown as Json[])[0]!['ip_address'])

test('the path between ports, from outside and to outside is explained', async () => {
  const outside = idOf(await api.network(api.admin, { 'router:external': true }))
  await api.subnet(outside, api.admin, { cidr: '203.0.113.0/24' })
  const network = await api.network()
  const subnet = idOf(await api.subnet(idOf(network)))
  const [one, two] = (await Promise.all(
    [1, 2].map(() => api.make(api.demo, 'ports', { network_id: idOf(network) })),
  )) as [Json, Json]

  const near = await explain({ from: addressOf(one), to: idOf(two), protocol: 'tcp', port: '80' })

  expect(near.status).toBe(200)
  expect(near.body).toMatchObject({
    // No server has plugged the ports in.
    reaches: false,
    from: { address: addressOf(one), port_id: idOf(one), server_id: null, host: null },
    to: { fixed_address: addressOf(two), network_id: idOf(network) },
    checks: [
      { name: 'port', holds: false },
      { name: 'port', holds: false },
      { name: 'route', holds: true },
      { name: 'egress', holds: true },
      { name: 'ingress', holds: true },
    ],
    ovn_trace: null,
  })

  const router = idOf(
    await api.make(api.demo, 'routers', { external_gateway_info: { network_id: outside } }),
  )
  await api.ask(api.demo, 'PUT', `routers/${router}/add_router_interface`, { subnet_id: subnet })
  const floating = await api.make(api.demo, 'floatingips', {
    floating_network_id: outside,
    port_id: idOf(two),
  })
  const address = textOf(floating['floating_ip_address'])
  const inward = await explain({ from: '198.51.100.7', to: address, protocol: 'icmp' })
  expect(inward.body).toMatchObject({
    from: { address: '198.51.100.7', port_id: null },
    to: { address, fixed_address: addressOf(two), port_id: idOf(two) },
    checks: [
      { name: 'port' },
      { name: 'route', holds: true },
      {
        name: 'ingress',
        holds: false,
        reason: expect.stringContaining('be reached from 198.51.100.7'),
      },
    ],
  })
  const outward = await explain({ from: addressOf(one), to: '198.51.100.7' })
  expect(outward.body['checks']).toContainEqual(
    expect.objectContaining({ name: 'route', holds: true }) as unknown,
  )
})

test('an end that does not exist, matches several ports or cannot be parsed is refused with advice', async () => {
  const cidr = '10.99.0.0/24'
  const made: Json[] = []
  for (let index = 0; index < 2; index += 1) {
    const network = idOf(await api.network())
    await api.subnet(network, api.demo, { cidr })
    const fixed = { fixed_ips: [{ ip_address: '10.99.0.9' }] }
    made.push(await api.make(api.demo, 'ports', { network_id: network, ...fixed }))
  }
  const ask = async (query: Readonly<Record<string, string>>) => {
    const { status, body } = await explain({ to: '198.51.100.7', ...query })
    return [status, textOf(body['detail'])]
  }

  const [status, message] = await ask({ from: '10.99.0.9' })
  expect(status).toBe(409)
  expect(message).toContain('Give the id of one')
  for (const port of made) expect(message).toContain(idOf(port))
  expect(await ask({ from: crypto.randomUUID() })).toEqual([
    404,
    expect.stringContaining('There is no port'),
  ])
  expect(await ask({ from: 'here' })).toEqual([
    400,
    expect.stringContaining("'here' is not a valid IP address"),
  ])
  expect(await ask({ from: '10.1.1.1', protocol: 'carrot' })).toEqual([
    400,
    expect.stringContaining('carrot is no protocol'),
  ])
  expect(await ask({ from: '10.1.1.1', port: '80' })).toEqual([
    400,
    expect.stringContaining('A port belongs to a protocol'),
  ])
  expect((await explain({ from: '10.1.1.1', to: '10.1.1.2' }, api.demo)).status).toBe(403)
})
