import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import type { ApiClient, CallOptions, Loose } from '#test/env/api/client.ts'
import { createServer, showServer, untilGone, untilStatus } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'

let cloud: Cloud
let admin: ApiClient
let demo: ApiClient

beforeAll(async () => {
  cloud = await startCloud()
  admin = cloud.as('admin')
  demo = cloud.as('demo')
})

afterAll(async () => {
  await cloud?.[Symbol.asyncDispose]()
})

interface Host {
  readonly id: string
  readonly name: string
  readonly cell_id: string
  readonly is_cordoned: boolean
  readonly total: Amounts
  readonly ratios: { readonly vcpus: number }
}

interface Amounts {
  readonly vcpus: number
  readonly memory_mb: number
  readonly disk_gb: number
}

interface Decision {
  readonly level: string
  readonly cell: string | null
  readonly chosen: string | null
  readonly emptied_by: string | null
  readonly filters: readonly { readonly name: string; readonly examples: readonly Loose[] }[]
}

interface Trace {
  readonly cell_id: string
  readonly cell: string | null
  readonly host: string
  readonly fault: string | null
  readonly decisions: readonly Decision[]
  readonly phases: readonly { readonly name: string; readonly took_ms: number | null }[]
}

const FOLLOWS_MS = 15_000
const get = <Body = Loose>(path: string, options?: CallOptions) =>
  admin.get<Body>(`/federation${path}`, options)
const patch = (path: string, body: Loose, options?: CallOptions) =>
  admin.call('PATCH', `/federation${path}`, body, options)
const traceOf = async (serverId: string) => (await get<Trace>(`/v1/servers/${serverId}/trace`)).body
const explain = (body: Loose) => admin.post<Trace>('/federation/v1/placements', body)
const hosts = async (query = '') =>
  (await get<{ hosts: readonly Host[] }>(`/v1/hosts${query}`)).body.hosts

describe('the federation API', () => {
  test('is found without a token, and is its operators’ alone', async () => {
    const { body } = await get<{ versions: readonly { id: string }[] }>('')
    expect(body.versions.map(({ id }) => id)).toEqual(['v1.0'])

    for (const path of ['/v1/cells', '/v1/hosts', '/v1/drivers'])
      expect(await demo.get(`/federation${path}`)).toMatchObject({
        status: 403,
        headers: { 'content-type': 'application/problem+json' },
        body: { type: 'urn:weir:problem:forbidden', status: 403 },
      })
  })

  test('lists the abilities of the drivers of all hosts', async () => {
    const { body } = await get('/v1/drivers')

    expect(body).toMatchObject({
      drivers: [
        {
          name: 'fake',
          is_simulated: true,
          hosts: 4,
          extra_specs: null,
          image_properties: null,
        },
      ],
    })
  })
})

describe('cells', () => {
  test('whose hosts would go on running their servers do not fail over', async () => {
    expect(await patch('/v1/cells/north', { recover_after_s: 300 })).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('Set CELL_FENCE_AFTER_S of its processes first') },
    })
    expect(await patch('/v1/cells/north', { recover_after_s: 59 })).toMatchObject({ status: 400 })
    expect(await patch('/v1/cells/north', { recover_after_s: null })).toMatchObject({
      status: 200,
      body: { recover_after_s: null },
    })
  })

  test('are listed by name, and found by name or id', async () => {
    const { body } = await get<{ cells: readonly { id: string; name: string }[] }>('/v1/cells')
    expect(body.cells.map(({ name }) => name)).toEqual(['north', 'south'])

    const { id } = body.cells[0]!
    expect((await get(`/v1/cells/${id}`)).body['name']).toBe('north')
    expect((await get('/v1/cells/north')).body).toMatchObject({
      id,
      is_enabled: true,
      is_alive: true,
      weight: 1,
      summary: { hosts: 2, hosts_up: 2, is_simulated: true, hypervisor_types: ['fake'] },
    })
    const own = await hosts(`?cell=${id}`)
    const sum = (of: (host: Host) => number) => own.reduce((total, host) => total + of(host), 0)
    const inUnits = (of: (host: Host) => Amounts) => ({
      vcpus: sum((host) => of(host).vcpus),
      memory_mb: sum((host) => of(host).memory_mb),
      disk_gb: sum((host) => of(host).disk_gb),
    })
    const { summary } = (await get<{ summary: object }>('/v1/cells/north')).body
    expect(summary).toMatchObject({
      total: inUnits(({ total }) => total),
      limits: { vcpus: sum(({ total, ratios }) => total.vcpus * ratios.vcpus) },
    })
    expect(await get('/v1/cells/west')).toMatchObject({
      status: 404,
      body: { detail: 'There is no cell west. There are: north, south.' },
    })
  })

  test('get no server while they are not enabled, and say why', async () => {
    const { headers } = await get('/v1/cells/north')
    const disabled = await patch(
      '/v1/cells/north',
      { is_enabled: false, disabled_reason: 'power works' },
      { headers: { 'if-match': headers['etag']! } },
    )
    expect(disabled.body).toMatchObject({ is_enabled: false, disabled_reason: 'power works' })
    expect(disabled.headers['etag']).not.toBe(headers['etag'])

    // A gateway that has read the row before that decides by outdated fields.
    const late = await patch(
      '/v1/cells/north',
      { weight: 2 },
      { headers: { 'if-match': headers['etag']! } },
    )
    expect(late).toMatchObject({ status: 412, body: { type: 'urn:weir:problem:http-412' } })

    const refused = '"candidate":"north","reason":"disabled"'
    const isBarred = async () => {
      const { body } = await explain({ flavor: 'm1.tiny', image: cloud.catalog.image })
      return JSON.stringify(body).includes(refused)
    }
    // The client asks the two gateways in turn.
    await waitFor(
      'every gateway to follow',
      async () => (await isBarred()) && (await isBarred()),
      FOLLOWS_MS,
    )
    const id = await createServer(cloud, demo)
    await untilStatus(demo, id, 'ACTIVE')
    expect(JSON.stringify(await traceOf(id))).toContain(refused)

    const enabled = await patch('/v1/cells/north', { is_enabled: true })
    expect(enabled.body).toMatchObject({ is_enabled: true, disabled_reason: null })
    await waitFor(
      'every gateway to take it again',
      async () => !(await isBarred()) && !(await isBarred()),
      FOLLOWS_MS,
    )
  })

  test.each([
    ['nothing', {}],
    ['a weight below 0', { weight: -1 }],
    ['a reason for being enabled', { disabled_reason: 'none' }],
    ['a field there is not', { name: 'other' }],
  ])('cannot be given %s', async (_what, change) => {
    const { status, body } = await patch('/v1/cells/south', change)

    expect(status).toBe(400)
    expect(body).toMatchObject({ type: 'urn:weir:problem:invalid' })
  })
})

describe('hosts', () => {
  test('come a page at a time, of all cells or of one', async () => {
    const all = await hosts()
    expect(all).toHaveLength(4)
    const names = (await hosts('?cell=south')).map(({ name }) => name)
    expect(names.toSorted()).toEqual(['south-1', 'south-2'])

    const paged: Host[] = []
    let path: string | undefined = '/v1/hosts?limit=3'
    while (path !== undefined) {
      const page: { body: { hosts: readonly Host[] }; headers: Readonly<Record<string, string>> } =
        await get<{ hosts: readonly Host[] }>(path)
      paged.push(...page.body.hosts)
      const [, next] =
        /^<[^>]*\/federation([^>]+)>; rel="next"$/.exec(page.headers['link'] ?? '') ?? []
      path = next
    }
    // Only the ids: the usage of a host may change between two lists.
    const ids = (listed: readonly Host[]) => listed.map(({ id }) => id)
    expect(ids(paged)).toEqual(ids(all))
    expect((await get('/v1/hosts?cursor=x')).status).toBe(400)
    expect(ids(await hosts('?capability=below'))).toEqual([])
    expect(ids(await hosts('?capability=snapshot'))).toEqual(ids(all))
    expect((await get('/v1/hosts?cell=west')).status).toBe(404)
  })

  test('are cordoned, with a reason, and taken back', async () => {
    const [host] = await hosts('?cell=south')
    const path = `/v1/hosts/${host!.id}`

    const cordoned = await patch(path, { is_cordoned: true, cordon_reason: 'a fan' })
    expect(cordoned.body).toMatchObject({ is_cordoned: true, cordon_reason: 'a fan' })
    expect((await get(path)).body).toMatchObject({ is_cordoned: true })
    const stale = await patch(path, { is_cordoned: false }, { headers: { 'if-match': '"0"' } })
    expect(stale.status).toBe(412)

    const back = await patch(path, { is_cordoned: false })
    expect(back.body).toMatchObject({ is_cordoned: false, cordon_reason: null })
    expect((await get('/v1/hosts/none')).status).toBe(404)
  })
})

describe('the trace of a server', () => {
  test('says which cell and host it is on, and every decision', async () => {
    const id = await createServer(cloud, demo)
    await untilStatus(demo, id, 'ACTIVE')

    const { cell_id, host, decisions, phases } = await traceOf(id)

    expect(decisions.map(({ level }) => level)).toEqual(['cells', 'hosts'])
    const cell = (await get<{ name: string }>(`/v1/cells/${cell_id}`)).body.name
    expect(decisions.map(({ chosen }) => chosen)).toEqual([cell, host])
    expect(phases.slice(0, 2).map(({ name }) => name)).toEqual(['choose-cell', 'choose-host'])
    expect(phases.at(-1)).toMatchObject({ name: 'total', result: 'success' })
    expect(decisions[0]).toMatchObject({ attempt: 1, considered: 2, lost_claims: [] })
    expect((await get(`/v1/servers/${cell_id}/trace`)).status).toBe(404)
    expect((await demo.get(`/federation/v1/servers/${id}/trace`)).status).toBe(403)
  })
})

test('servers are counted by their status, for operators', async () => {
  const { body } = await get<{ server_counts: readonly { status: string; count: number }[] }>(
    '/v1/server-counts',
  )
  const { body: listed } = await get<{ servers: readonly { status: string }[] }>('/v1/servers')
  const counted = Object.fromEntries(body.server_counts.map(({ status, count }) => [status, count]))
  const statuses = Map.groupBy(listed.servers, ({ status }) => status)
  expect(listed.servers.length).toBeGreaterThan(0)
  expect(counted).toEqual(Object.fromEntries([...statuses].map(([is, all]) => [is, all.length])))
})

test('boots that failed within the last hour are counted, also of servers that are gone', async () => {
  const failed = async () =>
    (await get<{ failed_boots: number }>('/v1/server-counts')).body.failed_boots
  const before = await failed()
  const vast = { name: 'vast', vcpus: 1, ram: 64, disk: 1_000_000 }
  const made = await admin.post<{ flavor: { id: string } }>('/compute/v2.1/flavors', {
    flavor: vast,
  })
  const id = await createServer(cloud, demo, { flavorRef: made.body.flavor.id })
  await untilStatus(demo, id, 'ERROR')
  await expect.poll(failed).toBe(before + 1)
  await demo.delete(`/compute/v2.1/servers/${id}`)
  await untilGone(demo, id)
  expect(await failed()).toBe(before + 1)
})

describe('a placement', () => {
  test('is explained without building anything', async () => {
    const servers = async () => {
      const { body } = await demo.get<{ servers: readonly { id: string }[] }>(
        '/compute/v2.1/servers',
      )
      return body.servers.map(({ id }) => id)
    }
    const before = await servers()

    const { status, body } = await explain({
      flavor: 'm1.tiny',
      image: cloud.catalog.image,
      networks: ['private'],
      zone: 'south',
    })

    expect(status).toBe(200)
    expect(body.cell).toBe('south')
    expect(body.host).toMatch(/^south-/)
    expect(body.decisions).toMatchObject([
      { level: 'cells', chosen: 'south', cell: null, emptied_by: null },
      { level: 'hosts', chosen: body.host, cell: 'south', emptied_by: null },
    ])
    expect(body.decisions[0]!.filters).toContainEqual({
      name: 'AvailabilityZoneFilter',
      refused: 1,
      examples: [{ candidate: 'north', reason: "has no zone 'south'" }],
    })
    expect(await servers()).toEqual(before)
  })

  test('that no host has room for names the filter and the numbers, as the fault of such a server does', async () => {
    const flavor = { name: 'giant', ram: 128, vcpus: 1, disk: 2 ** 20, id: 'giant' }
    await admin.post('/compute/v2.1/flavors', { flavor })

    const { body } = await explain({ flavor: 'giant', image: cloud.catalog.image })
    const server = await createServer(cloud, demo, { flavorRef: 'giant' })

    expect(body).toMatchObject({ cell: null, host: null })
    const levels = body.decisions.map(({ level, emptied_by }) => [level, emptied_by])
    const inCell = ['hosts', 'DiskFilter']
    expect(levels).toEqual([
      ['cells', null],
      inCell,
      ['cells', null],
      inCell,
      ['cells', 'RetryFilter'],
    ])
    const disk = body.decisions[1]!.filters.find(({ name }) => name === 'DiskFilter')
    expect(disk?.examples[0]?.['reason']).toMatch(
      /^gives a server at most \d+ GiB of disk, 1048576 are needed$/,
    )

    await expect(untilStatus(demo, server, 'ACTIVE')).rejects.toThrow('DiskFilter')
    const { fault } = await showServer(demo, server)
    expect(fault?.message).toBe(
      'No valid host was found. There are not enough hosts available. DiskFilter removed the last of 2 hosts.',
    )
    const trace = await traceOf(server)
    expect(trace.decisions.map(({ level, emptied_by }) => [level, emptied_by])).toEqual(levels)
    expect(trace.fault).toContain('1048576 are needed')
  })

  test.each([
    [400, { flavor: 'none' }],
    [400, { networks: ['none'] }],
    [400, { zone: 'mars' }],
    [400, { flavour: 'm1.tiny' }],
  ])('answers %i to %j', async (status, change) => {
    const asked = { flavor: 'm1.tiny', image: cloud.catalog.image, ...change }

    expect((await explain(asked)).status).toBe(status)
    expect((await demo.post('/federation/v1/placements', asked)).status).toBe(403)
  })
})
