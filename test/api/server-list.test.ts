import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ApiClient } from '#test/env/api/client.ts'
import { act, activeServer, SERVERS, type Server, untilSettled } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'

interface Page {
  readonly servers: readonly Server[]
  readonly servers_links?: readonly [{ readonly rel: string; readonly href: string }]
}

const NAMES = ['ada', 'bob', 'cyd', 'dan', 'eve'] as const

let cloud: Cloud
let demo: ApiClient
const ids = new Map<string, string>()

beforeAll(async () => {
  cloud = await startCloud()
  demo = cloud.as('demo')
  for (const name of NAMES) ids.set(name, (await activeServer(cloud, demo, { name })).id)
  await act(demo, ids.get('bob') ?? '', { 'os-stop': null })
  await untilSettled(cloud, ids.get('bob') ?? '')
})

afterAll(async () => {
  await cloud?.[Symbol.asyncDispose]()
})

const names = async (query: string, client = demo) =>
  (await client.get<Page>(`${SERVERS}/detail?${query}`)).body.servers.map(({ name }) => name)

test('the newest server comes first', async () => {
  expect(await names('')).toEqual([...NAMES].toReversed())
})

test.each([
  ['name=^a', ['ada']],
  ['name=a', ['dan', 'ada']],
  ['name=a|e', ['eve', 'dan', 'ada']],
  ['status=SHUTOFF', ['bob']],
  ['status=active', ['eve', 'dan', 'cyd', 'ada']],
  ['status=SHUTOFF&status=ERROR', ['bob']],
  ['sort_key=display_name&sort_dir=asc', ['ada', 'bob', 'cyd', 'dan', 'eve']],
  ['sort_key=display_name&sort_dir=desc&limit=2', ['eve', 'dan']],
  ['changes-since=2100-01-01T00:00:00Z', []],
  ['limit=0', []],
])('a list by %s holds the right servers in the right order', async (query, expected) => {
  expect(await names(query)).toEqual(expected)
})

test('a filter that only administrators may use is ignored before 2.83, as Nova does', async () => {
  expect(await names('vm_state=stopped&all_tenants=1', cloud.as('admin'))).toEqual(['bob'])
  expect(await names('vm_state=stopped')).toHaveLength(NAMES.length)
  const { body } = await demo.get<Page>(`${SERVERS}/detail?vm_state=stopped`, { version: '2.83' })
  expect(body.servers.map(({ name }) => name)).toEqual(['bob'])
})

test('pages follow each other over both gateways without repeating or missing a server', async () => {
  const seen: string[] = []
  const follow = async (path: string, page: number): Promise<void> => {
    const { body } = await demo.get<Page>(path, { gateway: page })
    seen.push(...body.servers.map(({ name }) => name))
    const next = body.servers_links?.[0]
    if (next === undefined || page > NAMES.length) return
    const { pathname, search } = new URL(next.href)
    await follow(pathname + search, page + 1)
  }

  await follow(`${SERVERS}?limit=2&sort_key=display_name&sort_dir=asc`, 0)

  expect(seen).toEqual(NAMES)
})

test('a marker that is not a server of the project is refused', async () => {
  const { status, body } = await demo.get(`${SERVERS}?marker=00000000-0000-4000-8000-000000000000`)

  expect(status).toBe(400)
  expect(body).toMatchObject({ badRequest: { message: expect.stringContaining('marker') } })
})

test('another project sees no servers; an administrator sees them on demand', async () => {
  expect(await names('', cloud.as('stranger'))).toEqual([])
  expect(await names('', cloud.as('admin'))).toEqual([])
  expect(await names('all_tenants=1', cloud.as('admin'))).toHaveLength(NAMES.length)
  expect((await demo.get(`${SERVERS}?all_tenants=1`)).status).toBe(403)
})

test('a reader of the project sees the servers and cannot change them', async () => {
  const auditor = cloud.as('auditor')

  expect(await names('name=eve', auditor)).toEqual(['eve'])
  expect((await act(auditor, ids.get('eve') ?? '', { 'os-stop': null })).status).toBe(403)
  expect((await auditor.delete(`${SERVERS}/${ids.get('eve')}`)).status).toBe(403)
})

test('an address finds its server', async () => {
  const { body } = await demo.get<Page>(`${SERVERS}/detail?name=cyd`)
  const address = body.servers[0]?.addresses['private']?.[0]?.addr ?? ''

  expect(await names(`ip=^${address.replaceAll('.', '\\.')}$`)).toEqual(['cyd'])
})
