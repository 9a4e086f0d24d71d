import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ApiClient } from '#test/env/api/client.ts'
import {
  act,
  activeServer,
  SERVERS,
  showServer,
  untilSettled,
  untilStatus,
} from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'

// Moves between hosts: the answers, the records and their texts. The first tests have no other suitable host.

let cloud: Cloud
let demo: ApiClient
let admin: ApiClient

beforeAll(async () => {
  cloud = await startCloud({ hostsPerCell: 1, cells: 1 })
  demo = cloud.as('demo')
  admin = cloud.as('admin')
})
afterAll(() => cloud?.[Symbol.asyncDispose]())

const NO_VALID_HOST = 'No valid host was found. There are not enough hosts available.'
interface Actions {
  readonly instanceActions: readonly { readonly action: string; readonly message: string | null }[]
}
type Migration = Readonly<Record<string, unknown>>
interface Migrations {
  readonly migrations: readonly Migration[]
  readonly migrations_links?: readonly { readonly href: string }[]
}

async function newestAction(id: string) {
  const { body } = await demo.get<Actions>(`${SERVERS}/${id}/os-instance-actions`)
  const { action, message } = body.instanceActions[0]!
  return [action, message]
}

test('a migration finds no host: accepted, on record as failed, the server as it was', async () => {
  const { id } = await activeServer(cloud, demo)
  const own = (await showServer(admin, id))['OS-EXT-SRV-ATTR:host'] as string

  expect((await act(demo, id, { migrate: null })).status).toBe(403)
  expect((await act(admin, id, { migrate: null })).status).toBe(202)
  expect((await untilSettled(cloud, id)).status).toBe('ACTIVE')
  await expect.poll(() => newestAction(id)).toEqual(['migrate', 'Error'])

  const refusals = [
    [own, 'Cannot migrate to the host where the server exists.'],
    ['nowhere', 'Compute host nowhere could not be found.'],
  ]
  for (const [host, message] of refusals) {
    const { status, body } = await act(admin, id, { migrate: { host } }, { version: '2.56' })
    expect([status, body]).toMatchObject([400, { badRequest: { message } }])
  }
  await act(demo, id, { pause: null })
  await untilSettled(cloud, id)
  expect((await act(admin, id, { migrate: null })).body).toMatchObject({
    conflictingRequest: {
      message: `Cannot 'migrate' instance ${id} while it is in vm_state paused`,
    },
  })
  await demo.delete(`${SERVERS}/${id}`)
})

test('a live migration is refused at once until 2.33 and on record from 2.34 on', async () => {
  const { id } = await activeServer(cloud, demo)
  const before = {
    'os-migrateLive': { host: null, block_migration: false, disk_over_commit: false },
  }
  const since = { 'os-migrateLive': { host: null, block_migration: 'auto' } }

  const refused = await act(admin, id, before)
  expect([refused.status, refused.body]).toMatchObject([
    400,
    { badRequest: { message: NO_VALID_HOST } },
  ])
  expect((await act(admin, id, since, { version: '2.34' })).status).toBe(202)
  const forced = { 'os-migrateLive': { host: null, block_migration: 'auto', force: true } }
  expect((await act(admin, id, forced, { version: '2.30' })).body).toMatchObject({
    badRequest: { message: "Can't force to a non-provided destination" },
  })
  expect((await act(admin, id, forced, { version: '2.68' })).status).toBe(400)
  expect((await untilSettled(cloud, id)).status).toBe('ACTIVE')
  await expect.poll(() => newestAction(id)).toEqual(['live-migration', 'Error'])

  const at = `${SERVERS}/${id}/migrations`
  expect((await admin.get(at, { version: '2.22' })).status).toBe(404)
  expect((await admin.get(at, { version: '2.23' })).body).toEqual({ migrations: [] })
  const all = () =>
    admin.get<Migrations>(`/compute/v2.1/os-migrations?instance_uuid=${id}`, { version: '2.80' })
  await expect.poll(async () => (await all()).body.migrations.length).toBe(2)
  const [newest] = (await all()).body.migrations
  expect(newest).toMatchObject({
    instance_uuid: id,
    status: 'error',
    migration_type: 'live-migration',
    source_compute: expect.any(String),
    dest_compute: null,
  })
  const one = `${at}/${String(newest!['id'])}`
  const shown = await admin.get(one, { version: '2.23' })
  expect([shown.status, shown.body]).toMatchObject([
    404,
    {
      itemNotFound: {
        message: `Live migration ${String(newest!['id'])} for server ${id} is not in progress.`,
      },
    },
  ])
  expect((await admin.delete(one, { version: '2.24' })).body).toMatchObject({
    conflictingRequest: {
      message: `Instance ${id} is in an invalid state for 'abort live migration'`,
    },
  })
  const force = await admin.post(`${one}/action`, { force_complete: null }, { version: '2.22' })
  expect([force.status, force.body]).toMatchObject([
    409,
    {
      conflictingRequest: { message: `Instance ${id} is in an invalid state for 'force_complete'` },
    },
  ])
  await demo.delete(`${SERVERS}/${id}`)
})

test('migrations are listed as each microversion shows them, filtered and in pages', async () => {
  const { id } = await activeServer(cloud, demo)
  const live = { 'os-migrateLive': { host: null, block_migration: 'auto' } }
  for (let n = 0; n < 3; n += 1)
    expect((await act(admin, id, live, { version: '2.34' })).status).toBe(202)
  const at = '/compute/v2.1/os-migrations'
  const ours = `instance_uuid=${id}`
  const list = (query: string, version: '2.1' | '2.23' | '2.59' | '2.66' | '2.80') =>
    admin.get<Migrations>(`${at}?${query}`, { version })
  await expect.poll(async () => (await list(ours, '2.80')).body.migrations.length).toBe(3)

  const fields = async (version: '2.1' | '2.23' | '2.59' | '2.80') => {
    const [first] = (await list(ours, version)).body.migrations
    return ['migration_type', 'uuid', 'user_id'].filter((field) => field in first!)
  }
  expect(await fields('2.1')).toEqual([])
  expect(await fields('2.23')).toEqual(['migration_type'])
  expect(await fields('2.59')).toEqual(['migration_type', 'uuid'])
  expect(await fields('2.80')).toEqual(['migration_type', 'uuid', 'user_id'])
  expect((await demo.get(at)).status).toBe(403)

  const first = (await list(`${ours}&limit=2`, '2.59')).body
  expect(first.migrations).toHaveLength(2)
  expect(first.migrations_links?.[0]?.href).toContain('marker=')
  const marker = String(first.migrations[1]!['uuid'])
  const second = (await list(`${ours}&limit=2&marker=${marker}`, '2.59')).body
  expect(second.migrations).toHaveLength(1)
  expect(new Set([...first.migrations, ...second.migrations].map(({ id: n }) => n)).size).toBe(3)
  expect((await list(`${ours}&status=finished`, '2.1')).body.migrations).toEqual([])
  expect((await list(`${ours}&host=nowhere`, '2.1')).body.migrations).toEqual([])
  expect((await list('marker=nothing', '2.59')).status).toBe(400)
  expect(
    (await list(`${ours}&changes-before=2020-01-01T00:00:00`, '2.66')).body.migrations,
  ).toEqual([])
  expect((await list('unknown=1', '2.59')).status).toBe(400)
  expect((await list('unknown=1', '2.1')).status).toBe(200)
  await demo.delete(`${SERVERS}/${id}`)
})

test('a server is evacuated only from a host that is down, and is in ERROR if no host can take it', async () => {
  const { id } = await activeServer(cloud, demo)
  const { 'OS-EXT-SRV-ATTR:host': own } = await showServer(admin, id)
  const ask = (body: object, version: '2.1' | '2.14') =>
    act(admin, id, { evacuate: body }, { version })

  expect((await ask({}, '2.14')).body).toMatchObject({
    badRequest: { message: `Compute service of ${String(own)} is still in use.` },
  })
  expect((await ask({ host: 'nowhere' }, '2.14')).status).toBe(404)
  expect((await ask({ host: own }, '2.14')).body).toMatchObject({
    badRequest: { message: "The target host can't be the same one." },
  })
  const down = (forced_down: boolean) =>
    admin.put(
      '/compute/v2.1/os-services/force-down',
      { host: own, binary: 'nova-compute', forced_down },
      { version: '2.11' },
    )
  expect((await down(true)).status).toBe(200)

  const answer = await ask({ onSharedStorage: false }, '2.1')

  expect(answer.status).toBe(200)
  expect(answer.body['adminPass']).toMatch(/^\S{8,}$/)
  await expect.poll(async () => (await showServer(demo, id)).status).toBe('ERROR')
  expect((await showServer(demo, id)).fault).toMatchObject({ code: 500, message: NO_VALID_HOST })
  await expect.poll(() => newestAction(id)).toEqual(['evacuate', 'Error'])
  const again = await ask({}, '2.14')
  expect([again.status, again.body]).toMatchObject([200, {}])
  await down(false)
  await demo.delete(`${SERVERS}/${id}`)
  await expectInvariants(cloud)
})

test('a resize is on record as finished, and as confirmed once it is', async () => {
  const { id } = await activeServer(cloud, demo)
  const recorded = async () => {
    const path = `/compute/v2.1/os-migrations?instance_uuid=${id}`
    const { body } = await admin.get<Migrations>(path, { version: '2.80' })
    return body.migrations.map(({ migration_type, status }) => [migration_type, status])
  }

  await act(demo, id, { resize: { flavorRef: cloud.catalog.small } })
  await untilStatus(demo, id, 'VERIFY_RESIZE')
  await expect.poll(recorded).toEqual([['resize', 'finished']])

  await act(demo, id, { confirmResize: null })
  await untilStatus(demo, id, 'ACTIVE')
  await expect.poll(recorded).toEqual([['resize', 'confirmed']])
  await demo.delete(`${SERVERS}/${id}`)
})

test('a migration and an action record their user, in the project of the token', async () => {
  const { id } = await activeServer(cloud, demo)
  const { user, project } = admin.account
  const asker = { user_id: await idOf('users', user), project_id: await idOf('projects', project) }
  const live = { 'os-migrateLive': { host: null, block_migration: 'auto' } }
  const resize = { resize: { flavorRef: cloud.catalog.small } }

  expect((await act(admin, id, live, { version: '2.34' })).status).toBe(202)
  await untilSettled(cloud, id)
  expect((await act(admin, id, resize)).status).toBe(202)
  await untilStatus(demo, id, 'VERIFY_RESIZE')
  expect((await act(admin, id, { lock: null })).status).toBe(202)

  const migrations = async () => {
    const path = `/compute/v2.1/os-migrations?instance_uuid=${id}`
    return (await admin.get<Migrations>(path, { version: '2.80' })).body.migrations
  }
  await expect.poll(migrations).toMatchObject([
    { migration_type: 'resize', ...asker },
    { migration_type: 'live-migration', ...asker },
  ])
  const { body } = await admin.get<Actions>(`${SERVERS}/${id}/os-instance-actions`)
  expect(body.instanceActions.filter(({ action }) => action !== 'create')).toMatchObject(
    ['lock', 'resize', 'live-migration'].map((action) => ({ action, ...asker })),
  )
  expect(asker.project_id).not.toBe((await showServer(demo, id))['tenant_id'])
  await act(admin, id, { unlock: null })
  await demo.delete(`${SERVERS}/${id}`)
})

async function idOf(what: 'users' | 'projects', name: string): Promise<string> {
  type Named = Readonly<Record<typeof what, readonly [{ readonly id: string }]>>
  return (await admin.get<Named>(`/identity/v3/${what}?name=${name}`)).body[what][0].id
}
