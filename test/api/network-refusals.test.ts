import { afterAll, beforeAll, expect, test } from 'vitest'
import { textOf } from './json.ts'
import { idOf, type NetworkApi, networkApi } from './network-api.ts'

// Goal: what a user most often gets wrong about networks is refused with the reason, and nothing has changed.

let api: NetworkApi

beforeAll(async () => {
  api = await networkApi()
  await api.connectOvn()
})
afterAll(() => api?.[Symbol.asyncDispose]())

test('a gateway outside its subnet', async () => {
  const network_id = idOf(await api.network())
  const subnet = { network_id, ip_version: 4, cidr: '10.200.0.0/24' }

  for (const gateway_ip of ['10.201.0.1', '10.200.0.0', '10.200.0.255'])
    expect(await api.refusal(api.demo, 'subnets', { ...subnet, gateway_ip })).toEqual({
      status: 400,
      message: expect.stringContaining(`${gateway_ip} is not usable in the subnet`),
    })
  expect(await api.list(api.demo, 'subnets', `network_id=${network_id}`)).toEqual([])
})

test('an MTU that no tunnel carries', async () => {
  expect(await api.refusal(api.demo, 'networks', { name: 'large', mtu: 9_000 })).toEqual({
    status: 400,
    message: expect.stringMatching(/mtu: 9000 is above the largest MTU of this cloud, 1\d{3}\./),
  })
  expect(await api.list(api.demo, 'networks', 'name=large')).toEqual([])
})

test('a network that ports are on', async () => {
  const network_id = idOf(await api.networkWithSubnet())
  const port = idOf(await api.make(api.demo, 'ports', { network_id }))
  const remove = () => api.ask(api.demo, 'DELETE', `networks/${network_id}`)

  const { status, body } = await remove()
  expect(status).toBe(409)
  expect(body['NeutronError']).toMatchObject({ type: 'NetworkInUse' })
  await api.ask(api.demo, 'DELETE', `ports/${port}`)
  expect((await remove()).status).toBe(204)
})

test('a floating IP of another project', async () => {
  const outside = idOf(await api.network(api.admin, { 'router:external': true }))
  await api.subnet(outside, api.admin)
  const asked = { floating_network_id: outside }
  const ip = await api.make(api.admin, 'floatingips', asked)
  const path = `floatingips/${idOf(ip)}`
  const network_id = idOf(await api.networkWithSubnet())
  const port_id = idOf(await api.make(api.demo, 'ports', { network_id }))

  for (const [method, body] of [
    ['GET', undefined],
    ['PUT', { floatingip: { port_id } }],
    ['DELETE', undefined],
  ] as const)
    expect((await api.ask(api.demo, method, path, body)).status).toBe(404)
  const { body } = await api.ask(api.admin, 'GET', path)
  expect(textOf(body['floatingip']?.['status'])).toBe('DOWN')
})
