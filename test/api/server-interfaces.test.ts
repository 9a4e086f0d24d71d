import { afterAll, beforeAll, expect, test } from 'vitest'
import { Failure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import { findPorts } from '#gateway/db/ports.ts'
import type { CellAsk } from '#openapi/wire/cell.ts'
import { activeServer } from '../env/active-server.ts'
import { type BootWorld, bootWorld } from '../env/boot-world.ts'
import type { ApiClient } from '../env/compute-api.ts'
import { createNetwork, createPort, createSubnet } from '../env/network-objects.ts'

interface Attachment {
  readonly port_id: string
  readonly net_id: string
  readonly mac_addr: string
  readonly port_state: string
  readonly fixed_ips: readonly { readonly ip_address: string; readonly subnet_id: string }[]
  readonly tag?: string | null
}
type Attached = { readonly interfaceAttachment: Attachment }

let world: BootWorld
let alice: ApiClient
let bob: ApiClient
let id: string
let otherNetwork: string
let asked: CellAsk<'instance.change-nic'>[]

beforeAll(async () => {
  world = await bootWorld('server_interfaces')
  alice = await world.api.user('alice', 'blue', 'member')
  bob = await world.api.user('bob', 'red', 'member')
  id = await activeServer(world, alice)
  otherNetwork = await ownNetwork('other', '10.77.0.0/24')
  world.cell.overrides['instance.change-nic'] = (ask) => {
    asked.push(ask)
    return {}
  }
  asked = []
})
afterAll(() => world?.[Symbol.asyncDispose]())

const owner = () => ({ projectId: alice.projectId, isAdmin: false })

async function ownNetwork(name: string, cidr: string): Promise<string> {
  const { networks } = world.api.gateway
  const network = await createNetwork(networks, owner(), { name })
  await createSubnet(networks, owner(), { network_id: network.id, ip_version: 4, cidr })
  return network.id
}

const attach = (body: object, version: '2.1' | '2.49' | '2.70' = '2.70', client = alice) =>
  client.call<Attached>('attachServerInterface', {
    params: { server_id: id },
    body: { interfaceAttachment: body },
    version,
  })
const detach = (port: string, client = alice) =>
  client.call('detachServerInterface', { params: { server_id: id, port_id: port } })

async function interfaces(version: '2.1' | '2.70' = '2.1'): Promise<readonly Attachment[]> {
  const { body } = await alice.call<{ readonly interfaceAttachments: readonly Attachment[] }>(
    'listServerInterfaces',
    { params: { server_id: id }, version },
  )
  return body.interfaceAttachments
}

async function addresses(): Promise<Readonly<Record<string, readonly object[]>>> {
  const { body } = await alice.call<{ readonly addresses: Record<string, readonly object[]> }>(
    'listServerAddresses',
    { params: { server_id: id } },
  )
  return body.addresses
}

test('a NIC on a network is attached, shown with its address, and goes with its port', async () => {
  const { status, body } = await attach({
    net_id: otherNetwork,
    fixed_ips: [{ ip_address: '10.77.0.9' }],
    tag: 'back',
  })

  expect(status).toBe(200)
  const { port_id, mac_addr } = body.interfaceAttachment
  // The host has plugged it in by then, so it shows that at once and in every list after.
  const shown = { net_id: otherNetwork, tag: 'back', port_state: 'ACTIVE' }
  expect(body.interfaceAttachment).toMatchObject(shown)
  expect(await interfaces()).toContainEqual(
    expect.objectContaining({ port_id, port_state: 'ACTIVE' }),
  )
  expect(asked.at(-1)?.attach).toMatchObject({
    portId: port_id,
    macAddress: mac_addr,
    fixedIps: [{ address: '10.77.0.9', cidr: '10.77.0.0/24' }],
  })
  expect((await interfaces('2.70')).map(({ tag }) => tag)).toEqual([null, 'back'])
  expect((await interfaces())[1]).not.toHaveProperty('tag')
  expect(await addresses()).toMatchObject({ other: [{ addr: '10.77.0.9', version: 4 }] })
  const one = await alice.call('showServerAddresses', {
    params: { server_id: id, network_label: 'other' },
  })
  expect(one.body).toEqual({ other: [{ addr: '10.77.0.9', version: 4 }] })

  expect((await detach(port_id)).status).toBe(202)

  expect(asked.at(-1)?.detach).toMatchObject({ portId: port_id })
  expect(await interfaces()).toHaveLength(1)
  expect(await addresses()).not.toHaveProperty('other')
  expect(await findPorts(world.api.gateway.db, [port_id])).toEqual([])
  const actions = await alice.call<{
    readonly instanceActions: readonly { readonly action: string }[]
  }>('listInstanceActions', { params: { server_id: id } })
  const names = actions.body.instanceActions.map(({ action }) => action)
  expect(names.slice(0, 2)).toEqual(['detach_interface', 'attach_interface'])
})

test('a port that is attached to a running server is bound to its host and works', async () => {
  const { networks, db } = world.api.gateway
  const own = await createPort(networks, owner(), { network_id: otherNetwork })
  const made = (await attach({ net_id: otherNetwork })).body.interfaceAttachment.port_id
  await attach({ port_id: own.id })

  const [first, second, boots] = await findPorts(db, [
    own.id,
    made,
    (await interfaces())[0]!.port_id,
  ])

  for (const port of [first, second, boots])
    expect(port).toMatchObject({ status: 'ACTIVE', hostName: boots!.hostName })
  expect(boots!.hostName).not.toBe('')
  for (const port of [own.id, made]) expect((await detach(port)).status).toBe(202)
  expect((await findPorts(db, [own.id]))[0]).toMatchObject({ status: 'DOWN', hostName: '' })
})

test('a port of the user stays when it is detached', async () => {
  const { networks, db } = world.api.gateway
  const port = await createPort(networks, owner(), { network_id: otherNetwork })

  expect((await attach({ port_id: port.id }, '2.1')).status).toBe(200)
  expect((await attach({ port_id: port.id }, '2.1')).status).toBe(409)
  expect((await detach(port.id)).status).toBe(202)

  expect((await findPorts(db, [port.id]))[0]).toMatchObject({ deviceId: '', deviceOwner: '' })
  expect((await detach(port.id)).status).toBe(404)
})

test('a change that the host refuses leaves nothing behind', async () => {
  const before = await interfaces()
  const change = world.cell.overrides['instance.change-nic']!
  world.cell.overrides['instance.change-nic'] = () => {
    throw new Failure('unsupported', 'This host has a fixed number of NICs.')
  }

  const refused = await attach({ net_id: otherNetwork })
  const kept = await detach(before[0]!.port_id)
  world.cell.overrides['instance.change-nic'] = change

  expect([refused.status, kept.status]).toEqual([501, 501])
  expect(await interfaces()).toEqual(before)
  expect(await addresses()).not.toHaveProperty('other')
})

test.each([
  ['both a network and a port', () => ({ net_id: otherNetwork, port_id: newId() }), 400],
  ['an address without a network', () => ({ fixed_ips: [{ ip_address: '10.77.0.8' }] }), 400],
  ['no network where there are several', () => ({}), 400],
  ['a network that is not there', () => ({ net_id: newId() }), 404],
  ['a port that is not there', () => ({ port_id: newId() }), 404],
  ['an address of another network', () => fixed('10.99.0.8'), 400],
  ['a name for a network', () => ({ net_id: 'other' }), 400],
])('%s is refused', async (_what, body, status) => {
  const before = await interfaces()
  expect((await attach(body())).status).toBe(status)
  expect(await interfaces()).toEqual(before)
})

const fixed = (address: string) => ({
  net_id: otherNetwork,
  fixed_ips: [{ ip_address: address }],
})

test('another project sees and changes no interfaces of the server', async () => {
  const [{ port_id }] = (await interfaces()) as [Attachment]
  const params = { server_id: id, port_id, network_label: 'private', volume_id: newId() }
  for (const operation of [
    'listServerInterfaces',
    'showServerInterface',
    'detachServerInterface',
    'listServerAddresses',
    'showServerAddresses',
    'listServerSecurityGroups',
    'listVolumeAttachments',
    'showVolumeAttachment',
  ])
    expect((await bob.call(operation, { params })).status, operation).toBe(404)
  expect((await attach({ net_id: otherNetwork }, '2.70', bob)).status).toBe(404)
})

test('security groups are added to and removed from every port of a server', async () => {
  type Groups = { readonly security_groups: readonly { readonly name: string }[] }
  const act = (action: string, name: string) =>
    alice.call(`${action}ServerSecurityGroup`, {
      params: { server_id: id },
      body: { [`${action}SecurityGroup`]: { name } },
    })
  const names = async () => {
    const { body } = await alice.call<Groups>('listServerSecurityGroups', {
      params: { server_id: id },
    })
    const shown = await alice.call<{ readonly server: Groups }>('showServer', {
      params: { server_id: id },
    })
    const groups = body.security_groups.map(({ name }) => name)
    expect(shown.body.server.security_groups.map(({ name }) => name)).toEqual(groups)
    return groups
  }
  const made = await alice.call<{
    readonly security_group: { readonly id: string; readonly rules: readonly object[] }
  }>('createProxiedSecurityGroup', { body: { security_group: { name: 'web', description: '' } } })
  const group = made.body.security_group
  expect(group.rules).toEqual([])
  const rule = { parent_group_id: group.id, ip_protocol: 'tcp', from_port: 80, to_port: '80' }
  const added = await alice.call('createProxiedSecurityGroupRule', {
    body: { security_group_rule: rule },
  })
  expect(added.body).toMatchObject({
    security_group_rule: { ip_protocol: 'tcp', from_port: 80, ip_range: { cidr: '0.0.0.0/0' } },
  })
  expect(
    (await alice.call('createProxiedSecurityGroupRule', { body: { security_group_rule: rule } }))
      .status,
  ).toBe(400)

  const given = await alice.call('createProxiedSecurityGroupRule', {
    body: { security_group_rule: { ...rule, cidr: '10.2.3.124/24' } },
  })
  expect(given.body).toMatchObject({
    security_group_rule: { ip_range: { cidr: '10.2.3.124/24' } },
  })

  const byName = await alice.call('showProxiedSecurityGroup', { params: { group_id: 'web' } })
  expect(byName.body).toMatchObject({
    badRequest: { code: 400, message: 'Security group id should be uuid' },
  })

  expect((await act('add', 'web')).status).toBe(202)
  expect((await act('add', group.id)).status).toBe(400)
  expect(await names()).toEqual(['default', 'web'])
  const inUse = await alice.call('deleteProxiedSecurityGroup', { params: { group_id: group.id } })
  expect(inUse.status).toBe(400)
  expect((await act('remove', 'default')).status).toBe(202)
  expect(await names()).toEqual(['web'])
  expect((await act('remove', 'default')).status).toBe(404)
  expect((await act('add', 'nope')).status).toBe(404)
  expect((await act('add', 'default')).status).toBe(202)
  expect((await act('remove', 'web')).status).toBe(202)

  const gone = await alice.call('deleteProxiedSecurityGroup', { params: { group_id: group.id } })
  expect(gone.status).toBe(202)
  const listed = await alice.call<Groups>('listProxiedSecurityGroups', { version: '2.35' })
  expect(listed.body.security_groups.map(({ name }) => name)).toEqual(['default'])
  const tooNew = await alice.call('listProxiedSecurityGroups', { version: '2.36' })
  expect(tooNew.status).toBe(404)
})

test('fixed addresses are added to and removed from a port until 2.43', async () => {
  const act = (action: string, body: object, version: '2.43' | '2.44' = '2.43') =>
    alice.call(`${action}ServerFixedIp`, {
      params: { server_id: id },
      body: { [`${action}FixedIp`]: body },
      version,
    })
  const mine = await attach({ net_id: otherNetwork })
  const first = mine.body.interfaceAttachment.fixed_ips[0]!.ip_address

  expect((await act('add', { networkId: otherNetwork })).status).toBe(202)
  expect((await addresses())['other']).toHaveLength(2)
  expect((await act('remove', { address: first })).status).toBe(202)
  expect((await addresses())['other']).toHaveLength(1)
  expect((await act('remove', { address: first })).status).toBe(400)
  expect((await act('add', { networkId: newId() })).status).toBe(400)
  expect((await act('add', { networkId: otherNetwork }, '2.44')).status).toBe(404)
  expect((await detach(mine.body.interfaceAttachment.port_id)).status).toBe(202)
})

test('floating addresses and volumes answer as in a cloud that has none', async () => {
  const params = {
    server_id: id,
    floating_ip_id: newId(),
    volume_id: newId(),
    snapshot_id: newId(),
  }
  const ask = async (operation: string, body?: object) => {
    const answer = await alice.call(operation, {
      params,
      ...(body === undefined ? {} : { body }),
      version: '2.35',
    })
    return [answer.status, answer.status === 200 ? answer.body : undefined]
  }
  expect(await ask('listFloatingIps')).toEqual([200, { floating_ips: [] }])
  expect(await ask('listFloatingIpPools')).toEqual([200, { floating_ip_pools: [] }])
  expect(await ask('showFloatingIp')).toEqual([404, undefined])
  expect(await ask('createFloatingIp', { pool: 'public' })).toEqual([404, undefined])
  const floating = { addFloatingIp: { address: '192.0.2.1' } }
  expect(await ask('addServerFloatingIp', floating)).toEqual([404, undefined])
  expect(await ask('listVolumeAttachments')).toEqual([200, { volumeAttachments: [] }])
  const volumeAttachment = { volumeId: newId() }
  expect(await ask('attachVolume', { volumeAttachment })).toEqual([404, undefined])
  expect(await ask('detachVolume')).toEqual([404, undefined])
  expect(await ask('listProxiedVolumesDetail')).toEqual([200, { volumes: [] }])
  expect(await ask('showProxiedVolume')).toEqual([404, undefined])
  const fromSnapshot = { volume: { size: 1, snapshot_id: newId() } }
  expect(await ask('createProxiedVolume', fromSnapshot)).toEqual([404, undefined])
  expect(await ask('listProxiedSnapshots')).toEqual([200, { snapshots: [] }])
  expect(await ask('listServerVirtualInterfaces')).toEqual([410, undefined])
})

test('networks are shown to clients of nova-network, and their writes are gone', async () => {
  const { body } = await alice.call<{ readonly networks: readonly { readonly label: string }[] }>(
    'listProxiedNetworks',
  )
  expect(body.networks.map(({ label }) => label).sort()).toEqual(['other', 'private'])
  const params = { network_id: otherNetwork }
  const tenant = await alice.call('showTenantNetwork', { params })
  expect(tenant.body).toEqual({ network: { id: otherNetwork, label: 'other', cidr: 'None' } })
  const shown = await alice.call('showProxiedNetwork', { params })
  expect(shown.body).toMatchObject({ network: { id: otherNetwork, label: 'other', dns1: null } })
  const missing = await alice.call('showProxiedNetwork', { params: { network_id: newId() } })
  expect(missing.status).toBe(404)
  for (const operation of ['createProxiedNetwork', 'deleteTenantNetwork', 'addProxiedNetwork'])
    expect((await alice.call(operation, { params, body: {} })).status).toBe(410)
})
