import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  createFloatingIps,
  ownFloatingIp,
  updateFloatingIp,
} from '#gateway/app/networks/floating-ips.ts'
import { createPortForwarding } from '#gateway/app/networks/port-forwardings.ts'
import { createRouters } from '#gateway/app/networks/routers/change-routers.ts'
import { addInterface } from '#gateway/app/networks/routers/interfaces.ts'
import type { FloatingIp } from '#gateway/db/floating-ips.ts'
import { portsOfServer } from '#gateway/db/ports.ts'
import { activeServer } from '../env/active-server.ts'
import { type BootWorld, bootWorld } from '../env/boot-world.ts'
import type { ApiClient } from '../env/compute-api.ts'
import { createNetwork, createSubnet, reportOvn } from '../env/network-objects.ts'

const ADMIN = { projectId: 'a'.repeat(32), isAdmin: true }

let world: BootWorld
let alice: ApiClient
let bob: ApiClient
let networkId: string
let outside: string

beforeAll(async () => {
  world = await bootWorld('floating_servers')
  alice = await world.api.user('alice', 'blue', 'member')
  bob = await world.api.user('bob', 'red', 'member')
  const { networks, db } = world.api.gateway
  await reportOvn(db)
  const external = await createNetwork(networks, ADMIN, { name: 'public', 'router:external': true })
  outside = external.id
  await createSubnet(networks, ADMIN, {
    network_id: outside,
    ip_version: 4,
    cidr: '203.0.113.0/29',
  })
  const inner = await createNetwork(networks, owner(), { name: 'inner' })
  networkId = inner.id
  const subnet = await createSubnet(networks, owner(), {
    network_id: networkId,
    ip_version: 4,
    cidr: '10.66.0.0/24',
  })
  const [router] = await createRouters(networks, owner(), [
    { external_gateway_info: { network_id: outside } },
  ])
  await addInterface(networks, owner(), router!.id, { subnet_id: subnet.id })
})
afterAll(() => world?.[Symbol.asyncDispose]())

const owner = () => ({ projectId: alice.projectId, isAdmin: false })
const server = () => activeServer(world, alice, { networks: [{ uuid: networkId }] })

async function take(): Promise<FloatingIp> {
  const { networks } = world.api.gateway
  return (await createFloatingIps(networks, owner(), [{ floating_network_id: outside }]))[0]!
}

async function giveBack(id: string): Promise<void> {
  const { status } = await alice.call('deleteFloatingIp', {
    params: { floating_ip_id: id },
    version: '2.35',
  })
  expect(status).toBe(202)
}

async function addresses(id: string) {
  const { body } = await alice.call<{
    readonly server: { readonly addresses: Readonly<Record<string, readonly object[]>> }
  }>('showServer', { params: { server_id: id } })
  return body.server.addresses['inner']
}

const act = (
  id: string,
  action: 'add' | 'remove',
  address: string,
  more: object = {},
  user = alice,
) =>
  user.call(`${action}ServerFloatingIp`, {
    params: { server_id: id },
    body: { [`${action}FloatingIp`]: { address, ...more } },
    version: '2.43',
  })

test('a server shows the floating IP of its port while it has it', async () => {
  const { networks, db } = world.api.gateway
  const id = await server()
  const [port] = await portsOfServer(db, id)
  const ip = await take()
  const fixed = {
    addr: port!.fixedIps[0]!.address,
    version: 4,
    'OS-EXT-IPS:type': 'fixed',
    'OS-EXT-IPS-MAC:mac_addr': port!.macAddress,
  }
  expect(await addresses(id)).toEqual([fixed])

  await updateFloatingIp(networks, owner(), ip.id, { port_id: port!.id })
  expect(await addresses(id)).toEqual([
    fixed,
    { ...fixed, addr: ip.address, 'OS-EXT-IPS:type': 'floating' },
  ])
  await updateFloatingIp(networks, owner(), ip.id, { port_id: null })
  expect(await addresses(id)).toEqual([fixed])

  await giveBack(ip.id)
})

test('a server that is deleted leaves its floating IP free', async () => {
  const { networks } = world.api.gateway
  const id = await server()
  const ip = await take()
  expect((await act(id, 'add', ip.address)).status).toBe(202)

  await alice.call('deleteServer', { params: { server_id: id } })

  await expect
    .poll(async () => (await ownFloatingIp(networks, owner(), ip.id)).fixedPortId)
    .toBeNull()
  await giveBack(ip.id)
})

test('forwardings to a server end with it', async () => {
  const { networks, db } = world.api.gateway
  const id = await server()
  const [port] = await portsOfServer(db, id)
  const ip = await take()
  await createPortForwarding(networks, owner(), ip.id, {
    internal_port_id: port!.id,
    protocol: 'tcp',
    internal_port: 22,
    external_port: 2222,
  })

  await alice.call('deleteServer', { params: { server_id: id } })

  await expect
    .poll(async () => (await ownFloatingIp(networks, owner(), ip.id)).forwardings)
    .toEqual([])
  await giveBack(ip.id)
})

test('Compute takes, shows, gives and returns floating IPs below 2.36 and 2.44', async () => {
  const version = '2.35'
  const id = await server()
  expect((await alice.call('listFloatingIpPools', { version })).body).toEqual({
    floating_ip_pools: [{ name: 'public' }],
  })

  const made = await alice.call<{
    readonly floating_ip: { readonly id: string; readonly ip: string }
  }>('createFloatingIp', { body: { pool: 'public' }, version })

  const { floating_ip: ip } = made.body
  expect(ip).toMatchObject({ pool: 'public', fixed_ip: null, instance_id: null })
  expect((await act(id, 'add', ip.ip)).status).toBe(202)
  const [own] = (await addresses(id)) as readonly { readonly addr: string }[]
  const associated = { ...ip, fixed_ip: own!.addr, instance_id: id }
  const params = { floating_ip_id: ip.id }
  expect((await alice.call('listFloatingIps', { version })).body).toEqual({
    floating_ips: [associated],
  })
  expect((await alice.call('showFloatingIp', { params, version })).body).toEqual({
    floating_ip: associated,
  })
  expect((await bob.call('showFloatingIp', { params, version })).status).toBe(404)
  expect((await bob.call('deleteFloatingIp', { params, version })).status).toBe(404)
  expect((await act(id, 'remove', ip.ip)).status).toBe(202)
  expect(await addresses(id)).toHaveLength(1)
  expect((await act(id, 'remove', ip.ip)).status).toBe(409)
  await giveBack(ip.id)
})

test('Compute refuses a floating IP in the words of Nova', async () => {
  const id = await server()
  const unroutable = await activeServer(world, alice)
  const ip = await take()

  expect((await act(id, 'add', '198.51.100.1')).status).toBe(404)
  expect((await act(id, 'add', ip.address, { fixed_address: '198.51.100.1' })).status).toBe(400)
  expect((await act(id, 'add', ip.address, {}, bob)).status).toBe(404)
  const unreachable = await act(unroutable, 'add', ip.address)
  expect(unreachable).toMatchObject({
    status: 400,
    body: { badRequest: { message: expect.stringContaining('Unable to associate floating IP') } },
  })
  await act(id, 'add', ip.address)
  const second = await take()
  expect((await act(id, 'add', second.address)).status).toBe(400)
  const pool = (name: string | null, user = alice) =>
    user.call('createFloatingIp', { body: { pool: name }, version: '2.35' })
  expect(await pool('nowhere')).toMatchObject({
    status: 404,
    body: { itemNotFound: { message: 'Floating IP pool not found.' } },
  })
  // Five addresses: the gateways of the network and the router have two.
  const last = await pool(null)
  expect(last.status).toBe(200)
  expect((await pool(null)).status).toBe(200)
  expect(await pool('public')).toMatchObject({
    status: 404,
    body: { itemNotFound: { message: 'No more floating IPs in pool public.' } },
  })
})
