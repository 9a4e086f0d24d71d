import { afterAll, beforeAll, expect, test } from 'vitest'
import { contractOf } from '#openapi/contract.ts'
import { MAX, MIN } from '#openapi/microversions.ts'
import { type BootWorld, bootWorld } from '#test/env/boot-world.ts'
import type { ApiClient } from '#test/env/compute-api.ts'

let world: BootWorld
let admin: ApiClient
let alice: ApiClient

beforeAll(async () => {
  world = await bootWorld('removed')
  admin = await world.api.user('admin', 'admin', 'admin')
  alice = await world.api.user('alice', 'blue', 'member')
})

afterAll(() => world?.[Symbol.asyncDispose]())

const REMOVED = [
  'agents',
  'cells',
  'certificates',
  'cloudpipe',
  'fixed-ips',
  'floating-ip-dns',
  'floating-ips-bulk',
  'fping',
  'security-group-default-rules',
]

test('operations that Nova removed answer 410 at every microversion, to any body', async () => {
  const removed = contractOf('compute').operations.filter(({ path }) => {
    const [, , first = '', , consoles] = path.split('/')
    return REMOVED.some((name) => first === `os-${name}`) || consoles === 'consoles'
  })
  expect(removed).toHaveLength(41)
  for (const { id, method } of removed)
    for (const version of [MIN, MAX]) {
      const body = method === 'GET' || method === 'DELETE' ? {} : { body: { anything: true } }
      const answer = await alice.call(id, { version, ...body })
      expect(answer.status, id).toBe(410)
      expect(answer.body).toMatchObject({
        computeFault: {
          code: 410,
          message: expect.stringContaining('no longer available') as string,
        },
      })
    }
})

test('a bare metal service and volumes are answered for as by a cloud without them', async () => {
  const params = { node_id: 'x' }
  expect((await admin.call('listBaremetalNodes')).status).toBe(501)
  expect((await admin.call('showBaremetalNode', { params })).status).toBe(501)
  expect((await alice.call('listBaremetalNodes')).status).toBe(403)
  expect((await admin.call('deleteBaremetalNode', { params })).status).toBe(400)
  expect((await admin.call('listBaremetalNodes', { version: '2.36' })).status).toBe(404)

  const create_info = { snapshot_id: 's', type: 'qcow2', new_file: 'f' }
  const snapshot = (body: object) => admin.call('createAssistedSnapshot', { body })
  const refused = await snapshot({ snapshot: { volume_id: 'v', create_info } })
  expect(refused.body).toMatchObject({
    badRequest: { code: 400, message: 'No volume Block Device Mapping with id v.' },
  })
  expect((await snapshot({ snapshot: { volume_id: 'v' } })).status).toBe(400)
  const remove = async (query: string) => {
    const asked = { params: { snapshot_id: 's' }, query }
    return (await admin.call('deleteAssistedSnapshot', asked)).status
  }
  expect(await remove('?delete_info={"volume_id":"v"}')).toBe(400)
  expect(await remove('?delete_info=no')).toBe(400)
  expect(await remove('')).toBe(400)
})

test('servers are found by their old path too', async () => {
  const made = await alice.call<{ server: { id: string } }>('createVolumeBootedServer', {
    body: world.body({ name: 'old' }),
  })
  expect(made.status).toBe(202)
  const params = { server_id: made.body.server.id }
  await world.until(params.server_id, ({ vmState }) => vmState === 'active')
  expect((await alice.call('showVolumeBootedServer', { params })).body['server']).toMatchObject({
    name: 'old',
    status: 'ACTIVE',
  })
  const listed = await alice.call<{ servers: { id: string }[] }>('listVolumeBootedServersDetail')
  expect(listed.body.servers.map(({ id }) => id)).toEqual([params.server_id])
  expect((await alice.call('showVolumeBootedServer', { params, version: '2.103' })).status).toBe(
    404,
  )
  expect((await alice.call('deleteVolumeBootedServer', { params })).status).toBe(204)
})
