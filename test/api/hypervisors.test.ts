import { afterAll, beforeAll, expect, test } from 'vitest'
import { Failure } from '#common/errors.ts'
import { waitFor } from '#common/wait-for.ts'
import { applyHostViews } from '#gateway/db/host-index.ts'
import type { Microversion } from '#openapi/microversions.ts'
import type { HostView } from '#openapi/wire/host.ts'
import { type ApiClient, type ComputeApi, computeApi } from '#test/env/compute-api.ts'
import { sampleHost } from '#test/env/sample-host.ts'

let api: ComputeApi
let admin: ApiClient
let alice: ApiClient
let west: HostView
let east: HostView
const UPTIME = ' 08:32:11 up 93 days, 18:25,  0 users,  load average: 0.20, 0.12, 0.14'

beforeAll(async () => {
  api = await computeApi('hypervisors', ['west', 'east'])
  admin = await api.user('admin', 'admin', 'admin')
  alice = await api.user('alice', 'blue', 'member')
  west = sampleHost('west-1', { zone: 'left', capabilities: ['uptime'] })
  east = sampleHost('east-1', { zone: 'right', isDisabled: true, disabledReason: 'fan' })
  const gone = sampleHost('gone', { isDeleted: true })
  await api.gateway.db.transaction(async (tx) => {
    await applyHostViews(tx, api.cells[0]!.id, [west, gone])
    await applyHostViews(tx, api.cells[1]!.id, [east])
  })
  api.cells[0]!.overrides['host.uptime'] = () => ({ text: UPTIME })
})

afterAll(() => api?.[Symbol.asyncDispose]())

interface HypervisorList {
  readonly hypervisors: readonly Readonly<Record<string, unknown>>[]
  readonly hypervisors_links?: readonly [{ readonly href: string }]
}
const list = (query = '', version: Microversion = '2.1', operation = 'listHypervisors') =>
  admin.call<HypervisorList>(operation, { query, version })

test('hypervisors have numbers for ids until 2.52 and UUIDs since', async () => {
  const numbered = (await list()).body.hypervisors
  expect(numbered.map((each) => each['hypervisor_hostname'])).toEqual([
    'west-1.example',
    'east-1.example',
  ])
  expect(numbered[0]!['id']).toEqual(expect.any(Number))
  const named = (await list('', '2.53')).body.hypervisors
  expect(named.map((each) => each['id'])).toEqual([west.hostId, east.hostId])

  const show = (hypervisor_id: string, version: Microversion) =>
    admin.call('showHypervisor', { params: { hypervisor_id }, version })
  expect((await show(String(numbered[0]!['id']), '2.1')).status).toBe(200)
  expect((await show(west.hostId, '2.52')).status).toBe(404)
  expect((await show(west.hostId, '2.53')).status).toBe(200)
  expect((await show('1', '2.53')).status).toBe(400)
  expect((await show(api.cells[0]!.id, '2.53')).status).toBe(404)
})

test('a hypervisor shows its usage, and from 2.88 on only properties that do not change', async () => {
  const [first, second] = (await list('', '2.1', 'listHypervisorsDetail')).body.hypervisors
  expect(first).toMatchObject({
    vcpus: 8,
    vcpus_used: 2,
    memory_mb: 16_384,
    free_ram_mb: 15_360,
    local_gb_used: 10,
    running_vms: 1,
    hypervisor_type: 'fake',
    state: 'up',
    status: 'enabled',
  })
  expect(JSON.parse(first!['cpu_info'] as string)).toMatchObject({ vendor: 'AMD' })
  expect(second).toMatchObject({ status: 'disabled', service: { disabled_reason: 'fan' } })
  const [modern] = (await list('', '2.28', 'listHypervisorsDetail')).body.hypervisors
  expect(modern!['cpu_info']).toMatchObject({ vendor: 'AMD', topology: { cores: 8 } })
  const [newest] = (await list('', '2.88', 'listHypervisorsDetail')).body.hypervisors
  expect(newest).not.toHaveProperty('vcpus')
  expect(newest).toHaveProperty('uptime', UPTIME)
})

test('hypervisors are paged from 2.33 on', async () => {
  const first = await list('?limit=1', '2.53')
  expect(first.body.hypervisors.map((each) => each['id'])).toEqual([west.hostId])
  const next = new URL(first.body.hypervisors_links![0].href).search
  expect((await list(next, '2.53')).body.hypervisors.map((each) => each['id'])).toEqual([
    east.hostId,
  ])
  expect((await list(`?marker=${api.cells[0]!.id}`, '2.53')).status).toBe(400)
  expect((await list('?limit=1', '2.32')).body.hypervisors).toHaveLength(2)
})

test('hypervisors are searched by part of their name', async () => {
  const params = { hostname_pattern: 'east' }
  expect(
    (await admin.call<HypervisorList>('searchHypervisors', { params })).body.hypervisors,
  ).toHaveLength(1)
  expect((await admin.call('listHypervisorServers', { params })).status).toBe(200)
  const none = { hostname_pattern: 'north' }
  expect((await admin.call('searchHypervisors', { params: none })).status).toBe(404)
  expect((await admin.call('searchHypervisors', { params, version: '2.53' })).status).toBe(404)
  const pattern = '?hypervisor_hostname_pattern=east'
  expect((await list(pattern, '2.53')).body.hypervisors).toHaveLength(1)
  expect((await list(`${pattern}&limit=1`, '2.53')).status).toBe(400)
})

test('statistics add up the enabled hypervisors', async () => {
  const { body } = await admin.call<{ hypervisor_statistics: object }>('showHypervisorStatistics')
  expect(body.hypervisor_statistics).toMatchObject({ count: 1, vcpus: 8, memory_mb_used: 1_024 })
  expect((await admin.call('showHypervisorStatistics', { version: '2.88' })).status).toBe(404)
})

test('an uptime is shown by hosts that know it, alone until 2.87 and with the rest since', async () => {
  const uptime = (hypervisor_id: string, version: Microversion = '2.53') =>
    admin.call<{ hypervisor: object }>('showHypervisorUptime', {
      params: { hypervisor_id },
      version,
    })
  const shown = async ({ hostId }: HostView) =>
    (
      await admin.call<{ hypervisor: object }>('showHypervisor', {
        params: { hypervisor_id: hostId },
        version: '2.88',
      })
    ).body.hypervisor
  expect((await uptime(west.hostId)).body.hypervisor).toMatchObject({ state: 'up', uptime: UPTIME })
  expect((await uptime(east.hostId)).status).toBe(501)
  expect((await uptime(west.hostId, '2.88')).status).toBe(404)
  expect(await shown(west)).toHaveProperty('uptime', UPTIME)
  expect(await shown(east)).toHaveProperty('uptime', null)

  api.cells[0]!.overrides['host.uptime'] = () => {
    throw new Failure('unavailable', 'Host west-1 did not answer.')
  }
  const silent = await uptime(west.hostId)
  expect([silent.status, silent.body]).toEqual([
    400,
    {
      badRequest: {
        code: 400,
        message: 'Compute service of west-1 is unavailable at this time.',
      },
    },
  ])
  expect(await shown(west)).toHaveProperty('uptime', null)
})

test('users see no hypervisors, but zones', async () => {
  for (const operation of [
    'listHypervisors',
    'listHypervisorsDetail',
    'listAvailabilityZonesDetail',
  ])
    expect((await alice.call(operation)).status).toBe(403)
  const zones = await alice.call('listAvailabilityZones')
  expect(zones.body['availabilityZoneInfo']).toEqual([
    { zoneName: 'left', zoneState: { available: true }, hosts: null },
    { zoneName: 'right', zoneState: { available: false }, hosts: null },
  ])
  const detail = await admin.call('listAvailabilityZonesDetail')
  expect(detail.body['availabilityZoneInfo']).toMatchObject([
    { zoneName: 'internal' },
    {
      zoneName: 'left',
      hosts: { 'west-1': { 'nova-compute': { active: true, available: true } } },
    },
    { zoneName: 'right', hosts: { 'east-1': { 'nova-compute': { active: false } } } },
  ])
})

test('the list of extensions names those that are served', async () => {
  const all = await alice.call<{ extensions: { alias: string }[] }>('listExtensions')
  const aliases = all.body.extensions.map(({ alias }) => alias)
  expect(aliases).toHaveLength(99)
  expect(aliases).toEqual(expect.arrayContaining(['NMN', 'os-keypairs', 'os-consoles']))
  const params = { alias: 'os-keypairs' }
  expect((await alice.call('showExtension', { params })).body['extension']).toMatchObject(params)
  expect((await alice.call('showExtension', { params: { alias: 'x' } })).status).toBe(404)
})

test('the hypervisors of an unreachable cell are shown as last seen, and down', async () => {
  await api.cells[0]!.vanish()
  await waitFor(
    'the cell to be unreachable',
    () => api.gateway.compute.cells.cell(api.cells[0]!.id)?.isReachable === false,
    10_000,
  )

  const [first] = (await list('', '2.1', 'listHypervisorsDetail')).body.hypervisors
  expect(first).toMatchObject({ hypervisor_hostname: 'west-1.example', vcpus: 8, state: 'down' })
})
