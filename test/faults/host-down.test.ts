import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ApiClient } from '#test/env/api/client.ts'
import { act, activeServer, deleteServer, showServer, untilStatus } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'

// Acts on a server while its host is down: refused before anything changed, or carried out once the host is back.

let cloud: Cloud
let demo: ApiClient
let admin: ApiClient

beforeAll(async () => {
  cloud = await startCloud({ gateways: 1, cells: 1, processesPerCell: 1, hostsPerCell: 1 })
  demo = cloud.as('demo')
  admin = cloud.as('admin')
})
afterAll(() => cloud?.[Symbol.asyncDispose]())

const stateOfHost = async () => {
  const path = '/compute/v2.1/os-services?binary=nova-compute'
  const { body } = await admin.get<{ services: { state: string }[] }>(path)
  return body.services[0]?.state
}

test('it is answered as by Nova, and accepted acts are carried out when the host is back', async () => {
  const flavor = { name: 'larger', vcpus: 2, ram: 192, disk: 1 }
  const made = await admin.post<{ flavor: { id: string } }>('/compute/v2.1/flavors', { flavor })
  const rebuilt = await activeServer(cloud, demo)
  const stopped = await activeServer(cloud, demo)
  const paused = await activeServer(cloud, demo)
  const host = cloud.hosts[0]!
  await host.process.kill()
  await expect.poll(stateOfHost).toBe('down')

  // nova/compute/api.py: `check_instance_host(check_is_up=True)`; nova/conductor/tasks/live_migrate.py.
  const unavailable = { conflictingRequest: { message: 'Service is unavailable at this time.' } }
  const resize = { resize: { flavorRef: made.body.flavor.id } }
  expect((await act(demo, rebuilt.id, resize)).body).toMatchObject(unavailable)
  expect((await act(admin, rebuilt.id, { migrate: null })).body).toMatchObject(unavailable)
  const live = { 'os-migrateLive': { host: null, block_migration: false, disk_over_commit: false } }
  const { status, body } = await act(admin, rebuilt.id, live)
  expect(status).toBe(400)
  expect(JSON.stringify(body)).toContain('is unavailable at this time.')
  expect(await showServer(demo, rebuilt.id)).toMatchObject({ status: 'ACTIVE' })
  const asked: readonly (readonly [string, object])[] = [
    [rebuilt.id, { rebuild: { imageRef: cloud.catalog.image, name: 'again' } }],
    [stopped.id, { 'os-stop': null }],
    [paused.id, { pause: null }],
  ]
  for (const [id, what] of asked) expect((await act(demo, id, what)).status).toBe(202)
  expect(await showServer(demo, rebuilt.id)).toMatchObject({
    status: 'REBUILD',
    'OS-EXT-STS:task_state': 'rebuilding',
  })
  expect(await showServer(demo, stopped.id)).toMatchObject({
    'OS-EXT-STS:task_state': 'powering-off',
  })

  await host.process.start()

  await untilStatus(demo, rebuilt.id, 'ACTIVE')
  await untilStatus(demo, stopped.id, 'SHUTOFF')
  await untilStatus(demo, paused.id, 'PAUSED')
  const log = await act(demo, rebuilt.id, { 'os-getConsoleOutput': {} })
  expect(log.body['output']).toContain('rebuilt again')
  for (const { id } of [rebuilt, stopped, paused]) await deleteServer(demo, id)
  await expectInvariants(cloud)
})
