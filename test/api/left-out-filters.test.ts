import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import type { ApiClient, Loose } from '#test/env/api/client.ts'
import {
  activeServer,
  createServer,
  deleteServer,
  SERVERS,
  smallServer,
  untilStatus,
} from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'

// Goal: a cell whose operator names few filters accepts nothing that has no effect there: what every server relies on is held to
// all the same, and what depends on a filter that does not run is refused, with the reason.

let cloud: Cloud
let demo: ApiClient
let admin: ApiClient

beforeAll(async () => {
  const cell = { CELL_SCHEDULING_FILTERS: 'ComputeFilter, ImagePropertiesFilter' }
  cloud = await startCloud({ cells: 1, hostsPerCell: 1, cell })
  demo = cloud.as('demo')
  admin = cloud.as('admin')
})

afterAll(() => cloud?.[Symbol.asyncDispose]())

test.each([
  ['TraitsFilter', { 'trait:CUSTOM_FAST': 'required' }, 'lacks the trait CUSTOM_FAST'],
  ['ResourceClassFilter', { 'resources:CUSTOM_GOLD': '1' }, 'has 0 CUSTOM_GOLD free'],
  [
    'OptionalFilter',
    { 'capabilities:vcpus_total': '>= 1' },
    'does not run the ComputeCapabilitiesFilter, which it depends on',
  ],
  [
    'OptionalFilter',
    { 'aggregate_instance_extra_specs:ssd': 'true' },
    'does not run the AggregateInstanceExtraSpecsFilter, which it depends on',
  ],
])('the %s refuses a flavor with %j', async (filter, specs, reason) => {
  const id = newId<string>()
  const flavor = { name: id, id, ram: 64, vcpus: 1, disk: 1 }
  await admin.post('/compute/v2.1/flavors', { flavor })
  await admin.post(`/compute/v2.1/flavors/${id}/os-extra_specs`, { extra_specs: specs })

  const server = await createServer(cloud, demo, { flavorRef: id })
  await expect(untilStatus(demo, server, 'ACTIVE')).rejects.toThrow(filter)

  const { body } = await admin.get<Loose>(`/federation/v1/servers/${server}/trace`)
  expect(JSON.stringify(body)).toContain(reason)
  await deleteServer(demo, server)
})

test.each(['same_host', 'different_host'])('the hint %s is refused', async (hint) => {
  const { id } = await activeServer(cloud, demo)
  const asked = { ...smallServer(cloud), 'os:scheduler_hints': { [hint]: [id] } }

  const refused = await demo.post<Loose>(SERVERS, asked)

  expect(refused.status).toBe(400)
  expect(JSON.stringify(refused.body)).toContain(`'${hint}' is not supported: no cell runs the`)
  await deleteServer(demo, id)
})
