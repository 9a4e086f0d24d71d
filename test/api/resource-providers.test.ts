import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import type { Microversion } from '#openapi/microversions.ts'
import { PLACEMENT_HISTORY } from '#openapi/placement-microversions.ts'
import type { ApiClient, Loose } from '#test/env/api/client.ts'
import { createServer, untilStatus } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'

let cloud: Cloud
let admin: ApiClient
let demo: ApiClient
let serverId: string

interface Provider {
  readonly uuid: string
  readonly name: string
  readonly generation: number
  readonly links: readonly { readonly rel: string; readonly href: string }[]
}

beforeAll(async () => {
  cloud = await startCloud()
  admin = cloud.as('admin')
  demo = cloud.as('demo')
  serverId = await createServer(cloud, demo)
  await untilStatus(demo, serverId, 'ACTIVE')
  // A cell tells of usage when it has changed, after the server is up: a provider's generation grows with it.
  const host = await hostOfServer()
  const isUsed = async () => {
    const { body } = await get<{ usages: Readonly<Record<string, number>> }>(
      `/resource_providers/${host}/usages`,
    )
    return body.usages['VCPU'] !== 0
  }
  await waitFor('the usage to be shown', isUsed, SHOWN_LIMIT_MS)
})

afterAll(async () => {
  await cloud?.[Symbol.asyncDispose]()
})

const SHOWN_LIMIT_MS = 30_000
const NEWEST: Microversion = '1.39'
const get = <Body = Loose>(path: string, version: Microversion = NEWEST, who = admin) =>
  who.get<Body>(`/placement${path}`, { version })
const providers = async (query = '', version: Microversion = NEWEST) =>
  (await get<{ resource_providers: readonly Provider[] }>(`/resource_providers${query}`, version))
    .body.resource_providers

/** The host of the server, as its allocation says. */
async function hostOfServer(): Promise<string> {
  const { body } = await get<{ allocations: Readonly<Record<string, Loose>> }>(
    `/allocations/${serverId}`,
  )
  return Object.keys(body.allocations)[0] ?? ''
}

describe('resource providers', () => {
  test('are the hosts of all cells, with the attributes of each microversion', async () => {
    const names = cloud.hosts.map(({ name }) => name).toSorted()
    expect((await providers()).map(({ name }) => name).toSorted()).toEqual(names)

    const [oldest] = await providers('?name=north-1', '1.0')
    const [newest] = await providers('?name=north-1')
    expect(oldest).toEqual({
      uuid: newest?.uuid,
      name: 'north-1',
      generation: expect.any(Number) as number,
      links: ['', '/inventories', '/usages'].map((path) => ({
        rel: path === '' ? 'self' : path.slice(1),
        href: `/placement/resource_providers/${newest?.uuid}${path}`,
      })),
    })
    expect(newest).toMatchObject({
      parent_provider_uuid: null,
      root_provider_uuid: newest?.uuid,
    })
    const shown = await get(`/resource_providers/${newest?.uuid}`)
    expect(shown.body).toEqual(newest)
    expect(shown.headers['openstack-api-version']).toBe('placement 1.39')
    expect(shown.headers['vary']).toBe('OpenStack-API-Version')
    expect(shown.headers['cache-control']).toBe('no-cache')

    const links = newest?.links.map(({ rel }) => rel) ?? []
    expect(links.toSorted()).toEqual([
      'aggregates',
      'allocations',
      'inventories',
      'self',
      'traits',
      'usages',
    ])
    for (const { href } of newest?.links ?? []) {
      const { status } = await admin.get(href, { version: NEWEST })
      expect(status, href).toBe(200)
    }
  })

  test('show their inventories, and the consumers of each', async () => {
    const host = await hostOfServer()
    const of = async (what: string, version: Microversion = NEWEST) =>
      (await get(`/resource_providers/${host}/${what}`, version)).body

    expect(await of('inventories')).toMatchObject({
      inventories: {
        VCPU: { total: 64, reserved: 0, min_unit: 1, max_unit: 64, step_size: 1 },
        MEMORY_MB: { total: 262_144 },
        DISK_GB: { total: 10_000 },
      },
      resource_provider_generation: expect.any(Number) as number,
    })
    expect(await of('inventories/VCPU')).toMatchObject({ total: 64 })
    expect(await of('usages')).toMatchObject({ usages: { VCPU: 1, MEMORY_MB: 128, DISK_GB: 1 } })
    expect(await of('allocations')).toMatchObject({
      allocations: {
        [serverId]: {
          resources: { VCPU: 1, MEMORY_MB: 128, DISK_GB: 1 },
          consumer_generation: expect.any(Number) as number,
        },
      },
    })
    expect(await of('aggregates', '1.1')).toEqual({ aggregates: [expect.any(String)] })
    expect(await of('aggregates')).toHaveProperty('resource_provider_generation')
    expect(await of('traits', '1.6')).toHaveProperty('traits')
  })

  test('are chosen by room, trait, aggregate and tree', async () => {
    const all = await providers()
    const host = await hostOfServer()
    const { aggregates } = (
      await get<{ aggregates: readonly string[] }>(`/resource_providers/${host}/aggregates`)
    ).body
    const count = async (query: string) => (await providers(query)).length

    expect(await count('?resources=VCPU:1,MEMORY_MB:1')).toBe(all.length)
    expect(await count('?resources=VCPU:65')).toBe(0)
    expect(await count('?resources=VGPU:1')).toBe(0)
    expect(await count(`?in_tree=${host}`)).toBe(1)
    expect(await count(`?uuid=${host}`)).toBe(1)
    expect(await count('?required=HW_CPU_X86_NOT_THERE')).toBe(0)
    expect(await count('?required=!HW_CPU_X86_NOT_THERE')).toBe(all.length)
    expect(await count('?required=in:HW_CPU_X86_NOT_THERE,OTHER_ONE')).toBe(0)
    const inCell = await count(`?member_of=${aggregates[0]}`)
    expect(inCell).toBeGreaterThan(0)
    expect(inCell).toBeLessThan(all.length)
    expect(await count(`?member_of=!${aggregates[0]}`)).toBe(all.length - inCell)
    expect(await count(`?member_of=in:${aggregates[0]},${host}`)).toBe(inCell)
  })

  test.each([
    ['/resource_providers?resources=VCPU', 400],
    ['/resource_providers?resources=NOPE:1', 400],
    ['/resource_providers?resources=VCPU:0', 400],
    ['/resource_providers?member_of=x', 400],
    ['/resource_providers?required=a b', 400],
    ['/resource_providers?nonsense=1', 400],
    ['/resource_providers/nonsense', 404],
    ['/resource_providers/6f2f4f2e-6f2f-4f2e-8f2f-4f2e6f2f4f2e', 404],
    ['/allocation_candidates', 400],
    ['/allocation_candidates?resources=VCPU:1&resources1=VCPU:1', 200],
    ['/allocation_candidates?resources=VCPU:1&resources1=VCPU', 400],
    ['/allocation_candidates?resources1=VCPU:1&resources2=VCPU:1', 400],
    ['/allocation_candidates?resources=VCPU:1&required1=COMPUTE_NODE', 400],
    ['/allocation_candidates?resources=VCPU:1&in_tree1=x', 400],
    ['/allocation_candidates?resources1=VCPU:1&in_tree1=x', 400],
    ['/allocation_candidates?resources1=VCPU:1&required1=a b', 400],
    ['/allocation_candidates?resources1=VCPU:1&member_of1=x', 400],
    ['/allocation_candidates?resources=VCPU:1&root_required1=COMPUTE_NODE', 400],
    ['/allocation_candidates?resources.a=VCPU:1', 400],
    ['/usages', 400],
    ['/traits?name=x', 400],
    ['/traits/NOT_THERE', 404],
    ['/resource_classes/NOT_THERE', 404],
  ] as const)('GET %s answers %d', async (path, status) => {
    expect((await get(path)).status).toBe(status)
  })
})

describe('allocations', () => {
  test('of a server are on its host; an unknown consumer has an empty list', async () => {
    const { body } = await get(`/allocations/${serverId}`)

    expect(body).toEqual({
      allocations: {
        [await hostOfServer()]: {
          resources: { VCPU: 1, MEMORY_MB: 128, DISK_GB: 1 },
          generation: expect.any(Number) as number,
        },
      },
      project_id: expect.any(String) as string,
      user_id: expect.any(String) as string,
      consumer_generation: expect.any(Number) as number,
      consumer_type: 'INSTANCE',
    })
    expect(Object.keys((await get(`/allocations/${serverId}`, '1.11')).body)).toEqual([
      'allocations',
    ])
    expect((await get('/allocations/nobody')).body).toEqual({ allocations: {} })
  })

  test('are summed for a project, which may ask for itself', async () => {
    const { body } = await get<Readonly<Record<string, string>>>(`/allocations/${serverId}`)
    const usages = `/usages?project_id=${body['project_id']}`
    const used = { VCPU: 1, MEMORY_MB: 128, DISK_GB: 1 }

    expect((await get(usages, '1.9', demo)).body).toEqual({ usages: used })
    expect((await get(usages, NEWEST, demo)).body).toEqual({
      usages: { INSTANCE: { ...used, consumer_count: 1 } },
    })
    expect((await get('/usages?project_id=other', NEWEST, demo)).status).toBe(403)
    expect((await get('/usages?project_id=other', NEWEST)).body).toEqual({ usages: {} })
    expect((await get(`${usages}&user_id=nobody`)).body).toEqual({ usages: {} })
  })

  test('have candidates for groups, with suffixes as each microversion has them', async () => {
    const [host = ''] = Object.keys(
      (await get<{ allocations: object }>(`/allocations/${serverId}`)).body.allocations,
    )
    const ask = (query: string, version: Microversion = NEWEST) =>
      get<Loose>(`/allocation_candidates?resources=MEMORY_MB:64&in_tree=${host}&${query}`, version)
    const groups = 'resources1=VCPU:2&required1=COMPUTE_NODE&resources2=VCPU:1&resources2=VCPU:3'

    const { body } = await ask(`${groups}&group_policy=none`)
    expect(body['allocation_requests']).toEqual([
      {
        allocations: { [host]: { resources: { MEMORY_MB: 64, VCPU: 5 } } },
        mappings: { '': [host], 1: [host], 2: [host] },
      },
    ])
    expect((await ask(`${groups}&group_policy=isolate`)).body['allocation_requests']).toEqual([])
    const named = 'resources_CPU=VCPU:1&required_X=COMPUTE_NODE&same_subtree=_X,_CPU'
    // Placement counts a group that asks for no resources, too.
    expect((await ask(named)).status).toBe(400)
    const { body: found } = await ask(`${named}&group_policy=none`)
    expect(found['allocation_requests']).toMatchObject([{ mappings: { _X: [host], _CPU: [host] } }])

    const before = (suffix: string, version: Microversion) =>
      get(`/allocation_candidates?resources=VCPU:1&resources${suffix}=VCPU:1`, version)
    expect((await before('1', '1.24')).status).toBe(400)
    expect((await before('1', '1.25')).status).toBe(200)
    expect((await before('0', '1.32')).status).toBe(400)
    expect((await before('_A', '1.32')).status).toBe(400)
    expect((await before('_A', '1.33')).status).toBe(200)
    expect((await before('A'.repeat(65), NEWEST)).status).toBe(400)
    expect((await ask(named, '1.35')).status).toBe(400)
  })

  test('have candidates, in the shape of each microversion', async () => {
    const ask = async (query: string, version: Microversion) =>
      (
        await get<{
          allocation_requests: readonly Loose[]
          provider_summaries: Readonly<Record<string, Loose>>
        }>(`/allocation_candidates?resources=VCPU:2${query}`, version)
      ).body
    const old = await ask('', '1.10')
    const limited = await ask('&limit=1', NEWEST)
    const [id = ''] = Object.keys(limited.provider_summaries)

    expect(old.allocation_requests).toHaveLength(cloud.hosts.length)
    expect(old.allocation_requests[0]).toEqual({
      allocations: [
        { resource_provider: { uuid: expect.any(String) as string }, resources: { VCPU: 2 } },
      ],
    })
    expect(Object.values(old.provider_summaries)[0]).toEqual({
      resources: {
        VCPU: { capacity: expect.any(Number) as number, used: expect.any(Number) as number },
      },
    })
    expect(limited.allocation_requests).toEqual([
      { allocations: { [id]: { resources: { VCPU: 2 } } }, mappings: { '': [id] } },
    ])
    expect(limited.provider_summaries[id]).toMatchObject({
      resources: { VCPU: {}, MEMORY_MB: {}, DISK_GB: {} },
      traits: expect.arrayContaining(['COMPUTE_NODE']) as string[],
      parent_provider_uuid: null,
      root_provider_uuid: id,
    })
    expect((await ask('&required=NOT_THERE', NEWEST)).allocation_requests).toEqual([])
  })
})

test('discovery needs no token, and names the range of microversions', async () => {
  const { status, body } = await get('', '1.0')

  expect(status).toBe(200)
  expect(body).toEqual({
    versions: [
      {
        id: 'v1.0',
        min_version: '1.0',
        max_version: '1.39',
        status: 'CURRENT',
        links: [{ rel: 'self', href: '' }],
      },
    ],
  })
})

test('classes are Placement’s, traits those of the hosts', async () => {
  const classes = await get<{ resource_classes: readonly { name: string }[] }>('/resource_classes')
  expect(classes.body.resource_classes.map(({ name }) => name)).toContain('DISK_GB')
  expect((await get('/resource_classes/VCPU')).body).toHaveProperty('name', 'VCPU')
  expect((await get('/traits')).body['traits']).toContain('COMPUTE_STATUS_DISABLED')
  expect((await get('/traits?associated=true')).body['traits']).not.toContain(
    'COMPUTE_STATUS_DISABLED',
  )
  expect((await get('/traits/COMPUTE_STATUS_DISABLED')).status).toBe(204)
})

test('an operation that a microversion lacks is not found, and an unknown microversion not acceptable', async () => {
  expect((await get('/traits', '1.5')).status).toBe(404)
  expect((await get('/usages?project_id=x', '1.8')).status).toBe(404)
  expect((await get('/allocation_candidates?resources=VCPU:1', '1.9')).status).toBe(404)
  expect((await get('/resource_providers', '1.40')).status).toBe(406)
  const compute = { headers: { 'openstack-api-version': 'compute 2.93' } }
  expect((await admin.get('/placement/resource_providers', compute)).status).toBe(200)
  expect(PLACEMENT_HISTORY).toHaveLength(40)
})

test('only administrators read, and no user writes what cells keep', async () => {
  const reads = ['/resource_providers', '/traits', '/resource_classes', `/allocations/${serverId}`]
  for (const path of reads) expect((await get(path, NEWEST, demo)).status, path).toBe(403)
  const put = await admin.put(`/placement/allocations/${serverId}`, {}, { version: NEWEST })
  expect(put.status).toBe(405)
  expect(put.body).toMatchObject({
    errors: [
      {
        status: 405,
        title: 'Method Not Allowed',
        detail: expect.stringContaining('cells keep') as string,
      },
    ],
  })
})
