import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import type { Microversion } from '#openapi/microversions.ts'
import { activeServer } from '../env/active-server.ts'
import { type BootWorld, bootWorld } from '../env/boot-world.ts'
import type { ApiAnswer, ApiClient } from '../env/compute-api.ts'

interface Shown {
  readonly server: Readonly<Record<string, unknown>>
}

let world: BootWorld
let alice: ApiClient
let bob: ApiClient
let admin: ApiClient
let id: string

beforeAll(async () => {
  world = await bootWorld('server_update')
  alice = await world.api.user('alice', 'blue', 'member')
  bob = await world.api.user('bob', 'red', 'member')
  admin = await world.api.user('root', 'admin', 'admin')
  id = await activeServer(world, alice)
})
afterAll(() => world?.[Symbol.asyncDispose]())

function update(
  server: object,
  version: Microversion = '2.1',
  client = alice,
): Promise<ApiAnswer<Shown>> {
  return client.call('updateServer', { params: { server_id: id }, body: { server }, version })
}

async function shown(version: Microversion = '2.90'): Promise<Shown['server']> {
  const { body } = await alice.call<Shown>('showServer', { params: { server_id: id }, version })
  return body.server
}

test('a server is renamed, described and given its addresses, and shown so at once', async () => {
  const change = {
    name: 'renamed',
    description: 'for the shop',
    hostname: 'shop',
    'OS-DCF:diskConfig': 'AUTO',
    accessIPv4: '192.0.2.7',
  }

  const { status, body } = await update({ ...change, accessIPv6: '2001:DB8:0::7' }, '2.90')

  expect(status).toBe(200)
  const { hostname, ...fields } = change
  const expected = {
    ...fields,
    accessIPv6: '2001:db8::7',
    'OS-EXT-SRV-ATTR:hostname': hostname,
  }
  expect(body.server).toMatchObject(expected)
  expect(await shown()).toMatchObject(expected)
  const { body: list } = await alice.call<{ readonly servers: readonly object[] }>('listServers', {
    query: '?name=^renamed$',
  })
  expect(list.servers).toHaveLength(1)
})

test('administrators find servers by their addresses for access', async () => {
  await update({ accessIPv4: '192.0.2.8' })
  const found = async (address: string) => {
    const { body } = await admin.call<{ readonly servers: readonly object[] }>('listServers', {
      query: `?all_tenants=1&sort_key=access_ip_v4&access_ip_v4=${address}`,
    })
    return body.servers
  }

  expect(await found('192.0.2.8')).toMatchObject([{ id }])
  expect(await found('192.0.2.9')).toEqual([])
})

test('a change moves `updated`, and no change does not', async () => {
  const before = await world.until(id, () => true)

  await update({})
  expect((await world.until(id, () => true)).updatedAt).toEqual(before.updatedAt)

  await update({ name: 'later' })
  const after = await world.until(id, () => true)
  expect(after.updatedAt.getTime()).toBeGreaterThan(before.updatedAt.getTime())
  expect(after).toMatchObject({ name: 'later', description: before.description })
})

test('a description can be taken away', async () => {
  await update({ description: 'some' }, '2.19')

  expect((await update({ description: null }, '2.19')).body.server).toMatchObject({
    description: null,
  })
})

test('the answer is the whole server from 2.75 on', async () => {
  const before = (await update({ name: 'short' }, '2.74')).body.server
  const after = (await update({ name: 'whole' }, '2.75')).body.server

  expect(before).not.toHaveProperty('OS-EXT-STS:vm_state')
  expect(after).toMatchObject({ 'OS-EXT-STS:vm_state': 'active', server_groups: [] })
  expect(after).not.toHaveProperty('OS-EXT-SRV-ATTR:host')
  const { body } = await update({ name: 'whole' }, '2.75', admin)
  expect(body.server).toMatchObject({ 'OS-EXT-SRV-ATTR:host': 'north-host-1' })
})

test.each<[string, object, Microversion]>([
  ['an empty name', { name: '' }, '2.1'],
  ['a name that is too long', { name: 'n'.repeat(256) }, '2.1'],
  ['a description before 2.19', { description: 'x' }, '2.18'],
  ['a host name before 2.90', { hostname: 'x1' }, '2.89'],
  ['a host name with a dot', { hostname: 'a.b' }, '2.90'],
  ['an address that is none', { accessIPv4: '1.2.3' }, '2.1'],
  ['an IPv6 address with a zone', { accessIPv6: 'fe80::1%eth0' }, '2.1'],
  ['another disk config', { 'OS-DCF:diskConfig': 'SOMETIMES' }, '2.1'],
  ['what cannot be changed', { flavorRef: '1' }, '2.1'],
])('%s is refused with 400', async (_what, change, version) => {
  expect((await update(change, version)).status).toBe(400)
})

test('another project’s server, an unknown id and a name are not found', async () => {
  expect((await update({ name: 'stolen' }, '2.1', bob)).status).toBe(404)
  expect(await shown()).not.toMatchObject({ name: 'stolen' })
  for (const server_id of [newId<string>(), 'web']) {
    const asked = { params: { server_id }, body: { server: { name: 'x' } } }
    expect((await alice.call('updateServer', asked)).status).toBe(404)
  }
})

test('readers may not change a server', async () => {
  const reader = await world.api.user('rita', 'blue', 'reader')

  expect((await update({ name: 'x' }, '2.1', reader)).status).toBe(403)
})

test('reports of the cell and changes of the user do not undo each other', async () => {
  const stop = { params: { server_id: id }, body: { 'os-stop': null } }
  await Promise.all([update({ name: 'both' }), alice.call('stopServer', stop)])

  await world.until(id, ({ vmState, name }) => vmState === 'stopped' && name === 'both')
})

test('a server of an unreachable cell can be renamed and labelled', async () => {
  const { compute } = world.api.gateway
  await world.cell.vanish()
  await expect.poll(() => compute.cells.cell(world.cell.id)?.isReachable).toBe(false)
  const metadata = { params: { server_id: id }, body: { metadata: { k: 'v' } } }

  expect((await update({ name: 'silent' })).status).toBe(200)
  expect((await alice.call('updateServerMetadata', metadata)).status).toBe(200)

  expect(await shown()).toMatchObject({ name: 'silent', metadata: { k: 'v' } })
  world.cell.appear()
})
