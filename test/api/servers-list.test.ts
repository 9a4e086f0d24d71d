import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import type { NewServer } from '#gateway/app/servers/boot/new-server.ts'
import { serverIndex } from '#gateway/db/schema/servers.ts'
import { queueServers } from '#gateway/db/server-index.ts'
import type { Microversion } from '#openapi/microversions.ts'
import { type ApiClient, type ComputeApi, computeApi } from '#test/env/compute-api.ts'
import { sampleServer } from '#test/env/sample-server.ts'

let api: ComputeApi
let admin: ApiClient
let alice: ApiClient
let bob: ApiClient

interface ServerList {
  readonly servers: readonly { readonly id: string; readonly name: string }[]
  readonly servers_links?: readonly [{ readonly href: string }]
}
interface OneServer {
  readonly server: Readonly<Record<string, unknown>>
}

/** Adds a server that was created so many seconds after the first. */
async function add(owner: ApiClient, second: number, server: Partial<NewServer>, cell = 0) {
  const { db } = api.gateway
  const row = sampleServer(owner, api.cells[cell]!.id, server)
  await db.transaction((tx) => queueServers(tx, [row]))
  const at = new Date(Date.UTC(2026, 10, 21, 7, 0, second))
  await db.orm
    .update(serverIndex)
    .set({ createdAt: at, updatedAt: at })
    .where(eq(serverIndex.serverId, row.id))
  return row
}

const list = (client: ApiClient, query = '', version: Microversion = '2.1') =>
  client.call<ServerList>('listServers', { query, version })
const names = async (client: ApiClient, query = '', version: Microversion = '2.1') => {
  const { status, body } = await list(client, query, version)
  if (status !== 200) return status
  return body.servers.map(({ name }) => name)
}

const fixed = (addr: string, version: 4 | 6) => {
  return {
    addr,
    version,
    'OS-EXT-IPS:type': 'fixed',
    'OS-EXT-IPS-MAC:mac_addr': 'fa:16:3e:0:0:1',
  } as const
}

beforeAll(async () => {
  api = await computeApi('servers_list', ['west', 'east'])
  admin = await api.user('admin', 'admin', 'admin')
  alice = await api.user('alice', 'blue', 'member')
  bob = await api.user('bob', 'red', 'member')
  const active = { vmState: 'active', taskState: null } as const
  const web = await add(alice, 1, {
    ...active,
    name: 'web-1',
    tags: ['a', 'b'],
    keyName: 'k',
    addresses: { n: [fixed('10.0.0.5', 4)] },
  })
  await api.gateway.db.orm
    .update(serverIndex)
    .set({ isLocked: true })
    .where(eq(serverIndex.serverId, web.id))
  await add(alice, 2, {
    ...active,
    name: 'Web-2',
    tags: ['a'],
    addresses: { n: [fixed('10.0.0.51', 4), fixed('fd00::5', 6)] },
  })
  await add(alice, 3, { name: 'db_1', vmState: 'stopped', taskState: null, configDrive: true }, 1)
  await add(
    alice,
    4,
    {
      name: 'db%2',
      vmState: 'error',
      taskState: null,
      fault: { code: 500, message: 'No valid host was found.', details: 'why', createdAt: 0 },
    },
    1,
  )
  await add(alice, 5, { name: 'young' })
  await add(bob, 6, { ...active, name: 'foreign' })
  const gone = await add(alice, 7, { vmState: 'deleted', taskState: null, name: 'gone' })
  await api.gateway.db.orm
    .update(serverIndex)
    .set({ deletedAt: new Date() })
    .where(eq(serverIndex.serverId, gone.id))
  const bin = await add(alice, 8, { vmState: 'soft-delete', taskState: null, name: 'bin' })
  await api.gateway.db.orm
    .update(serverIndex)
    .set({ host: 'west-1', hypervisorHostname: 'west-1.node', isLocked: true, lockedBy: 'owner' })
    .where(eq(serverIndex.serverId, bin.id))
})

afterAll(() => api?.[Symbol.asyncDispose]())

const ALL = ['young', 'db%2', 'db_1', 'Web-2', 'web-1']

test("a project's servers are listed newest first, without those deleted", async () => {
  expect(await names(alice)).toEqual(ALL)
  expect(await names(bob)).toEqual(['foreign'])
  expect(await names(admin)).toEqual([])
})

test.each([
  ['name=web', ['Web-2', 'web-1']],
  ['name=^web-1$', ['web-1']],
  ['name=WEB.1', ['web-1']],
  ['name=db%25', ['db%2']],
  ['name=_', ['db_1']],
  ['name=(web-1|db_1)', ['db_1', 'web-1']],
  ['name=[0-9]$', ['db%2', 'db_1', 'Web-2', 'web-1']],
  ['status=ACTIVE', ['Web-2', 'web-1']],
  ['status=active&status=SHUTOFF', ['db_1', 'Web-2', 'web-1']],
  ['status=BUILD', ['young']],
  ['status=NONSENSE', []],
  ['image=0b1c2d3e-4f50-4617-8293-a4b5c6d7e8f9', ALL],
  ['flavor=tiny', ALL],
  ['flavor=large', []],
  ['ip=10.0.0.5', ['Web-2', 'web-1']],
  ['ip=^10.0.0.5$', ['web-1']],
  ['ip=fd00', []],
  ['ip=10.0.0.51', ['Web-2']],
  ['metadata=1', ALL],
  ['soft_deleted=1', ALL],
  ['vm_state=active', ALL],
  ['host=west-1', ALL],
  ['reservation_id=r-12345678', ALL],
  ['host=anything', ALL],
  ['changes-since=2026-11-21T07:01:00Z', []],
  ['sort_key=display_name&sort_dir=asc', ['db%2', 'db_1', 'Web-2', 'web-1', 'young'].toSorted()],
  [
    'sort_key=vm_state&sort_dir=asc&sort_key=created_at&sort_dir=desc',
    ['Web-2', 'web-1', 'young', 'db%2', 'db_1'],
  ],
])('the list of %s has what fits', async (query, expected) => {
  expect(await names(alice, `?${query}`)).toEqual(expected)
})

test.each<[string, Microversion, readonly string[] | number]>([
  ['ip6=fd00::5', '2.1', ALL],
  ['ip6=fd00::5', '2.5', ['Web-2']],
  ['ip=10.0.0.51&ip6=fd00', '2.5', ['Web-2']],
  ['ip=^10.0.0.5$&ip6=fd00', '2.5', ['Web-2', 'web-1']],
  ['ip=(^10|^11).*5$&ip6=fd00', '2.5', ['Web-2', 'web-1']],
  ['hostname=nothing', '2.89', ALL],
  ['hostname=nothing', '2.90', []],
  ['status=ERROR&vm_state=active&task_state=x', '2.83', ['db%2']],
  ['sort_key=locked', '2.72', ALL],
  ['sort_key=locked&sort_key=created_at', '2.73', ['web-1', ...ALL.slice(0, -1)]],
  ['sort_key=memory_mb&sort_dir=asc', '2.74', ALL],
  ['sort_key=memory_mb', '2.75', 400],
  ['locked=perhaps', '2.73', 400],
  ['locked=perhaps', '2.72', ALL],
  ['changes-before=2026-11-21T07:00:03Z', '2.65', ALL],
  ['changes-before=2026-11-21T07:00:03Z', '2.66', ['db_1', 'Web-2', 'web-1']],
  ['tags=a,b', '2.26', ['web-1']],
  ['tags-any=b,c', '2.26', ['web-1']],
  ['not-tags=a,b', '2.26', ['young', 'db%2', 'db_1', 'Web-2']],
  ['not-tags-any=a', '2.26', ['young', 'db%2', 'db_1']],
  ['status=NONSENSE', '2.38', 400],
  ['locked=true', '2.73', ['web-1']],
  ['nonsense=1', '2.74', ALL],
  ['nonsense=1', '2.75', 400],
  ['key_name=k', '2.82', ALL],
  ['key_name=k', '2.83', ['web-1']],
  ['config_drive=True', '2.83', ['db_1']],
  ['vm_state=error', '2.83', ['db%2']],
  ['changes-since=2026-11-21T07:00:10Z&changes-before=2026-11-21T07:00:00Z', '2.66', 400],
])('the filter %s means at %s what it did there', async (query, version, expected) => {
  expect(await names(alice, `?${query}`, version)).toEqual(expected)
})

test.each([
  'name=(',
  'name=(%3F=a)b',
  'limit=-1',
  'marker=nothing',
  'sort_key=nonsense',
  'sort_key=uuid&sort_dir=up',
  'sort_dir=asc&sort_dir=desc',
  'sort_key=uuid&sort_dir=asc&sort_dir=desc',
  'changes-since=soon',
  'all_tenants=perhaps',
])('the query %s is refused', async (query) => {
  expect((await list(alice, `?${query}`)).status).toBe(400)
})

test("only administrators see other projects' servers, and deleted ones", async () => {
  expect(await names(alice, '?all_tenants=1')).toBe(403)
  expect(await names(admin, '?all_tenants=True')).toEqual(['foreign', ...ALL])
  expect(await names(admin, `?all_tenants&project_id=${bob.projectId}`)).toEqual(['foreign'])
  expect(await names(admin, `?all_tenants=1&tenant_id=${bob.projectId}`)).toEqual(['foreign'])
  expect(await names(admin, `?tenant_id=${bob.projectId}`)).toEqual([])
  expect(await names(alice, `?tenant_id=${bob.projectId}`)).toEqual(ALL)
  expect(await names(alice, `?project_id=${bob.projectId}`)).toEqual(ALL)
  expect(await names(alice, '?deleted=true')).toEqual(ALL)
  expect(await names(alice, '?status=DELETED')).toBe(403)
  expect(await names(admin, '?all_tenants=1&deleted=true')).toEqual(['bin', 'gone'])
  expect(await names(admin, '?all_tenants=1&status=deleted')).toEqual(['gone'])
  expect(await names(alice, '?sort_key=host')).toBe(403)
})

test.each([
  ['node=west', []],
  ['soft_deleted=1&node=^west-1', ['bin']],
  ['soft_deleted=1&host=west-1', ['bin']],
  ['soft_deleted=1&host=west', []],
  ['soft_deleted=1&locked_by=own', ['bin']],
  ['status=SOFT_DELETED', []],
  ['deleted=1', ['bin', 'gone']],
  ['deleted=1&soft_deleted=0', ['gone']],
  ['deleted=nonsense&name=web', ['Web-2', 'web-1']],
  ['vm_state=stopped', ['db_1']],
  ['vm_state=stop', []],
  ['task_state=scheduling', ['young']],
  ['power_state=0&name=web-1', ['web-1']],
  ['display_name=web', ['Web-2', 'web-1']],
  ['image_ref=0b1c2d3e-4f50-4617-8293-a4b5c6d7e8f9&config_drive=True', ['db_1']],
  ['kernel_id=a', []],
  ['created_at=07:00:03', ['db_1']],
  ['launched_at=2', []],
  ['auto_disk_config=AUTO', []],
  ['sort_key=node&sort_dir=asc&soft_deleted=1&name=^(bin|db_1)$', ['db_1', 'bin']],
  ['system_metadata=1', 400],
  ['services=1', 400],
])('an administrator may list by %s', async (query, expected) => {
  const wide = `?all_tenants=1&project_id=${alice.projectId}&${query}`
  expect(await names(admin, wide)).toEqual(expected)
})

test('changed servers are listed with deleted ones', async () => {
  expect(await names(alice, '?changes-since=2026-11-21T07:00:12Z')).toEqual(['bin', 'gone'])
})

test.each(['', '&sort_key=display_name&sort_dir=asc', '&sort_key=launched_at', '&name=[a-z]'])(
  'pages%s have every server once',
  async (order) => {
    const seen: string[] = []
    let query = `?limit=2${order}`
    for (let page = 0; page < 5 && query !== ''; page += 1) {
      const { body } = await list(alice, query)
      seen.push(...body.servers.map(({ name }) => name))
      query = body.servers_links === undefined ? '' : new URL(body.servers_links[0].href).search
    }
    const whole = order === '' ? '' : `?${order.slice(1)}`
    expect(seen).toEqual(await names(alice, whole))
  },
)

test("a marker of another project's server is unknown", async () => {
  const [foreign] = (await list(bob)).body.servers
  expect((await list(alice, `?marker=${foreign!.id}`)).status).toBe(400)
})

const idOf = async (client: ApiClient, name: string) =>
  (await list(client)).body.servers.find((each) => each.name === name)!.id

test.each<Microversion>([
  '2.1',
  '2.3',
  '2.16',
  '2.26',
  '2.47',
  '2.63',
  '2.73',
  '2.90',
  '2.93',
  '2.96',
  '2.98',
  '2.100',
])('servers are shown at %s as its document says, to users and administrators', async (version) => {
  for (const name of ['web-1', 'db%2', 'young']) {
    const params = { server_id: await idOf(alice, name) }
    const seen = await alice.call<OneServer>('showServer', { params, version })
    expect(seen.body.server).toMatchObject({ name, 'OS-EXT-STS:power_state': 0 })
    expect(seen.body.server).not.toHaveProperty('OS-EXT-SRV-ATTR:host')
    expect(seen.body.server).not.toHaveProperty('host_status')
    const whole = await admin.call<OneServer>('showServer', { params, version })
    expect(whole.body.server).toHaveProperty('OS-EXT-SRV-ATTR:host')
  }
  const detail = await alice.call<ServerList>('listServersDetail', { version })
  expect(detail.body.servers).toHaveLength(5)
  const query = '?all_tenants=1'
  const all = await admin.call<ServerList>('listServersDetail', { query, version })
  expect(all.body.servers).toHaveLength(6)
})

test('a server that failed shows its fault, with details to administrators only', async () => {
  const params = { server_id: await idOf(alice, 'db%2') }
  const seen = await alice.call<OneServer>('showServer', { params })
  const fault = { code: 500, message: 'No valid host was found.', created: '1970-01-01T00:00:00Z' }
  expect(seen.body.server).toMatchObject({ status: 'ERROR', fault })
  expect(seen.body.server['fault']).toEqual(fault)
  const whole = await admin.call<OneServer>('showServer', { params })
  expect(whole.body.server['fault']).toEqual({ ...fault, details: 'why' })
})

test.each(['web-1', 'nothing', '0b1c2d3e-4f50-4617-8293-a4b5c6d7e8f9'])(
  'the server %s is not found',
  async (server_id) => {
    expect((await alice.call('showServer', { params: { server_id } })).body).toEqual({
      itemNotFound: { code: 404, message: `Instance ${server_id} could not be found.` },
    })
  },
)

test("another project's server and its actions are not found", async () => {
  const server_id = await idOf(alice, 'web-1')
  expect((await bob.call('showServer', { params: { server_id } })).status).toBe(404)
  expect((await bob.call('listInstanceActions', { params: { server_id } })).status).toBe(404)
  expect((await alice.call('listInstanceActions', { params: { server_id } })).status).toBe(200)
})

test('servers of an unreachable cell are shown complete, and marked', async () => {
  const before = await names(alice)
  expect((await list(alice)).headers.has('weir-stale')).toBe(false)
  await api.cells[1]!.vanish()
  await waitFor(
    'the cell to be unreachable',
    () => api.gateway.compute.cells.cell(api.cells[1]!.id)?.isReachable === false,
    15_000,
  )

  expect(await names(alice)).toEqual(before)
  expect((await list(alice)).headers.get('weir-stale')).toMatch(/^\d+$/)
  expect((await list(admin, '?all_tenants=1')).headers.get('weir-stale')).toMatch(
    /^\d+; cells=east$/,
  )
  expect((await list(bob)).headers.has('weir-stale')).toBe(false)
})
