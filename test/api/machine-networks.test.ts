import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ApiClient, Loose } from '#test/env/api/client.ts'
import { createServer, deleteServer, untilStatus } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'

// A host of whole machines with NICs on networks of the site.

const FLAVORS = '/compute/v2.1/flavors'

let cloud: Cloud
let demo: ApiClient
let admin: ApiClient

beforeAll(async () => {
  const driver = { machines: 'CUSTOM_GOLD=1', machine_segments: 'SITE,SITE:7' }
  cloud = await startCloud({ cells: 1, hostsPerCell: 1, driver })
  demo = cloud.as('demo')
  admin = cloud.as('admin')
})
afterAll(() => cloud?.[Symbol.asyncDispose]())

test('a server on a tenant network gets no machine, and operators see why, and what to do', async () => {
  const flavor = { name: 'gold', ram: 512, vcpus: 1, disk: 1, id: 'gold' }
  expect((await admin.post(FLAVORS, { flavor })).status).toBe(200)
  const nothing = { 'resources:VCPU': '0', 'resources:MEMORY_MB': '0', 'resources:DISK_GB': '0' }
  const extra_specs = { ...nothing, 'resources:CUSTOM_GOLD': '1' }
  expect((await admin.post(`${FLAVORS}/gold/os-extra_specs`, { extra_specs })).status).toBe(200)

  const refused = await createServer(cloud, demo, { flavorRef: 'gold' })
  await expect(untilStatus(demo, refused, 'ACTIVE')).rejects.toThrow(
    /PhysicalNetworkFilter.*use one of these/,
  )
  const trace = await admin.get<Loose>(`/federation/v1/servers/${refused}/trace`)
  expect(JSON.stringify(trace.body)).toContain(
    "use a provider network on one of its machines' networks (SITE, SITE:7)",
  )

  const without = { flavorRef: 'gold', networks: 'none' }
  const alone = await createServer(cloud, demo, without, { version: '2.37' })
  await untilStatus(demo, alone, 'ACTIVE')
  for (const id of [refused, alone]) await deleteServer(demo, id)
  await expectInvariants(cloud)
})
