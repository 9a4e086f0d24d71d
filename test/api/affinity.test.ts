import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import {
  act,
  activeServer,
  createServer,
  deleteServer,
  SERVERS,
  type Server,
  showServer,
  smallServer,
  untilGone,
  untilStatus,
} from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'

const GROUPS = '/compute/v2.1/os-server-groups'
const AGGREGATES = '/compute/v2.1/os-aggregates'
const CELLS = 2
const HOSTS_PER_CELL = 3

let cloud: Cloud
let demo: ApiClient
let admin: ApiClient

beforeAll(async () => {
  cloud = await startCloud({ cells: CELLS, hostsPerCell: HOSTS_PER_CELL })
  demo = cloud.as('demo')
  admin = cloud.as('admin')
})

afterAll(() => cloud?.[Symbol.asyncDispose]())

afterEach(async () => {
  const { body } = await demo.get<{ servers: readonly Server[] }>(SERVERS)
  await Promise.all(body.servers.map(({ id }) => demo.delete(`${SERVERS}/${id}`)))
  for (const { id } of body.servers) await untilGone(demo, id)
  await expectInvariants(cloud)
})

async function makeGroup(policy: string, rules: object = {}): Promise<string> {
  const server_group = { name: policy, policy, rules }
  const { body } = await demo.post<{ server_group: { id: string } }>(
    GROUPS,
    { server_group },
    { version: '2.64' },
  )
  return body.server_group.id
}

const membersOf = async (group: string) => {
  const { body } = await demo.get<{ server_group: { members: string[] } }>(`${GROUPS}/${group}`)
  return body.server_group.members
}

const askFor = async (group: string, change: object = {}) => {
  const body = { ...smallServer(cloud, change), 'os:scheduler_hints': { group } }
  return demo.post<{ server: { id: string } }>(SERVERS, body)
}

const bootIn = async (group: string): Promise<string> => {
  const { status, body } = await askFor(group)
  if (status !== 202) throw new Error(`Creating answered ${status}: ${JSON.stringify(body)}`)
  return body.server.id
}

/** What became of a server: the host it runs on, or null for ERROR. */
const outcome = (id: string) =>
  waitFor(
    `server ${id} to be built or not`,
    async () => {
      const server = await showServer(admin, id)
      if (server.status === 'BUILD') return undefined
      return { host: server.status === 'ERROR' ? null : String(server['OS-EXT-SRV-ATTR:host']) }
    },
    30_000,
  )

const bootTogether = async (group: string, count: number) => {
  const ids = await Promise.all(Array.from({ length: count }, () => bootIn(group)))
  const ended = await Promise.all(ids.map(outcome))
  return { ids, hosts: ended.flatMap(({ host }) => (host === null ? [] : [host])) }
}

test('servers of an anti-affinity group booted at once never share a host', async () => {
  const group = await makeGroup('anti-affinity')

  const { ids, hosts } = await bootTogether(group, CELLS * HOSTS_PER_CELL + 2)

  expect(new Set(hosts).size).toBe(hosts.length)
  expect(hosts).toHaveLength(CELLS * HOSTS_PER_CELL)
  expect((await membersOf(group)).toSorted()).toEqual(ids.toSorted())
  const shown = await demo.get<{ server: Server }>(`${SERVERS}/${ids[0]}`, { version: '2.71' })
  expect(shown.body.server['server_groups']).toEqual([group])
})

test('as many as its rule allows share a host', async () => {
  const group = await makeGroup('anti-affinity', { max_server_per_host: 2 })

  const { hosts } = await bootTogether(group, 9)

  expect(hosts).toHaveLength(9)
  const counts = [...Map.groupBy(hosts, (host) => host).values()].map(({ length }) => length)
  expect(Math.max(...counts)).toBe(2)
})

test('servers of an affinity group booted at once are all on one host, and elsewhere once all are gone', async () => {
  const group = await makeGroup('affinity')

  const { ids, hosts } = await bootTogether(group, 6)

  expect(hosts).toHaveLength(6)
  expect(new Set(hosts).size).toBe(1)
  await Promise.all(ids.map((id) => deleteServer(demo, id)))
  expect(await membersOf(group)).toEqual([])

  // The host they were on is out of service: a group without servers is free to go anywhere.
  const service = { host: hosts[0]!, binary: 'nova-compute' }
  await admin.put('/compute/v2.1/os-services/disable', service)
  expect((await outcome(await bootIn(group))).host).not.toBe(hosts[0])
  await admin.put('/compute/v2.1/os-services/enable', service)
})

test('soft policies are kept as long as they can be', async () => {
  const apart = await makeGroup('soft-anti-affinity')
  const spread = await bootTogether(apart, CELLS * HOSTS_PER_CELL + 2)
  expect(spread.hosts).toHaveLength(CELLS * HOSTS_PER_CELL + 2)

  await Promise.all(spread.ids.map((id) => deleteServer(demo, id)))

  const together = await makeGroup('soft-affinity')
  const first = await outcome(await bootIn(together))
  for (let nth = 0; nth < 2; nth += 1) expect(await outcome(await bootIn(together))).toEqual(first)
})

test('hints place servers beside others and apart from them, across cells', async () => {
  const bootWith = async (hints: object, by = demo) => {
    const body = { ...smallServer(cloud), 'os:scheduler_hints': hints }
    const made = await by.post<{ server: { id: string } }>(SERVERS, body)
    const { id } = made.body.server
    return { id, ...(await outcome(id)) }
  }
  const spread: { readonly id: string; readonly host: string | null }[] = []
  for (let nth = 0; nth < CELLS * HOSTS_PER_CELL; nth += 1)
    spread.push(await bootWith({ different_host: spread.map(({ id }) => id) }))
  const hosts = spread.map(({ host }) => host)
  expect(new Set(hosts).size).toBe(CELLS * HOSTS_PER_CELL)
  expect(hosts).not.toContain(null)
  expect((await bootWith({ different_host: spread.map(({ id }) => id) })).host).toBeNull()

  const [first, second] = [spread[0]!, spread[1]!]
  expect((await bootWith({ same_host: first.id })).host).toBe(first.host)
  expect(
    (await bootWith({ same_host: [first.id, second.id], different_host: first.id })).host,
  ).toBe(second.host)
  expect((await bootWith({ same_host: crypto.randomUUID() })).host).toBeNull()

  // Of another project, they are as good as not there.
  const stranger = cloud.as('stranger')
  expect((await bootWith({ same_host: first.id }, stranger)).host).toBeNull()
  const alone = await bootWith({ different_host: hosts.map(() => first.id) }, stranger)
  expect(alone.host).not.toBeNull()
  expect((await bootWith({ same_host: [first.id, alone.id] }, stranger)).host).toBe(alone.host)
  const { servers } = (await stranger.get<{ servers: { id: string }[] }>(SERVERS)).body
  for (const { id } of servers) await deleteServer(stranger, id)
})

test('a group has no more servers than the quota, and must be the project’s own', async () => {
  const group = await makeGroup('soft-affinity')
  const project = String((await showServer(admin, await createServer(cloud, demo)))['tenant_id'])
  const quota = `/compute/v2.1/os-quota-sets/${project}`
  const setMembers = (server_group_members: number) =>
    admin.put(quota, { quota_set: { server_group_members } })
  await setMembers(1)
  const first = await bootIn(group)
  expect((await askFor(group)).status).toBe(403)
  expect((await askFor('0198f6aa-1111-7222-8333-000000000006')).status).toBe(400)
  await setMembers(10)
  await untilStatus(demo, first, 'ACTIVE')
  expect((await demo.delete(`${GROUPS}/${group}`)).status).toBe(204)
  expect((await act(demo, first, { 'os-stop': null })).status).toBe(202)
})

test('a zone made of an aggregate takes servers, and its metadata keeps others off', async () => {
  const make = async (aggregate: object) => {
    const { body } = await admin.post<{ aggregate: { id: number } }>(AGGREGATES, { aggregate })
    return `${AGGREGATES}/${body.aggregate.id}/action`
  }
  const fast = await make({ name: 'fast', availability_zone: 'fast' })
  expect((await admin.post(fast, { add_host: { host: 'north-2' } })).status).toBe(200)
  const inZone = () =>
    waitFor(
      'the zone to be known',
      async () => {
        const { status, body } = await demo.post<{ server: { id: string } }>(
          SERVERS,
          smallServer(cloud, { availability_zone: 'fast' }),
        )
        return status === 202 ? body.server.id : undefined
      },
      10_000,
    )
  const id = await inZone()
  await untilStatus(demo, id, 'ACTIVE')
  const server = await showServer(admin, id)
  expect(server['OS-EXT-SRV-ATTR:host']).toBe('north-2')
  expect(server['OS-EXT-AZ:availability_zone']).toBe('fast')
  expect((await admin.post(fast, { remove_host: { host: 'north-2' } })).status).toBe(409)
  await deleteServer(demo, id)
  expect((await admin.post(fast, { remove_host: { host: 'north-2' } })).status).toBe(200)

  const kept = await make({ name: 'kept' })
  await admin.post(kept, { set_metadata: { metadata: { filter_tenant_id: 'somebody' } } })
  for (const { name } of cloud.hosts)
    if (name !== 'south-1') await admin.post(kept, { add_host: { host: name } })
  const elsewhere = await activeServer(cloud, demo)
  expect((await showServer(admin, elsewhere.id))['OS-EXT-SRV-ATTR:host']).toBe('south-1')
  for (const { name } of cloud.hosts)
    if (name !== 'south-1') await admin.post(kept, { remove_host: { host: name } })
})
