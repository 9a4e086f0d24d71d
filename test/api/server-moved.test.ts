import { isIP } from 'node:net'
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

// Changes of host between two hosts of a cell, as an administrator asks for them and as users see them.

let cloud: Cloud
let demo: ApiClient
let admin: ApiClient

beforeAll(async () => {
  cloud = await startCloud({ cells: 1, hostsPerCell: 2 })
  demo = cloud.as('demo')
  admin = cloud.as('admin')
})
afterAll(() => cloud?.[Symbol.asyncDispose]())

/** The feed of a cell may be late on a busy machine. */
const PATIENCE = { timeout: 60_000 }

type Migration = Readonly<Record<string, unknown>>

const hostOf = async (id: string) => (await showServer(admin, id))['OS-EXT-SRV-ATTR:host'] as string
const otherThan = (host: string) =>
  cloud.hosts.map(({ name }) => name).find((name) => name !== host)!
const hostNamed = (name: string) => cloud.hosts.find((host) => host.name === name)!

async function migrationsOf(id: string): Promise<readonly Migration[]> {
  const path = `/compute/v2.1/os-migrations?instance_uuid=${id}`
  const { body } = await admin.get<{ migrations: readonly Migration[] }>(path, { version: '2.80' })
  return body.migrations
}

const isOn = (hypervisor: Migration, host: string) =>
  (hypervisor['service'] as { readonly host: string }).host === host

test('a server is migrated to the other host, and back by a revert', async () => {
  const { id } = await activeServer(cloud, demo)
  const own = await hostOf(id)

  expect((await act(admin, id, { migrate: null })).status).toBe(202)
  await untilStatus(demo, id, 'VERIFY_RESIZE')
  expect(await hostOf(id)).toBe(otherThan(own))
  await act(demo, id, { revertResize: null })
  await untilStatus(demo, id, 'ACTIVE')
  expect(await hostOf(id)).toBe(own)
  const there = { migrate: { host: otherThan(own) } }
  expect((await act(admin, id, there, { version: '2.56' })).status).toBe(202)
  await untilStatus(demo, id, 'VERIFY_RESIZE')
  await act(demo, id, { confirmResize: null })
  await untilStatus(demo, id, 'ACTIVE')

  expect(await hostOf(id)).toBe(otherThan(own))
  expect(await hostNamed(own).guests()).not.toContain(id)
  await expect
    .poll(
      async () => (await migrationsOf(id)).map((each) => [each['migration_type'], each['status']]),
      PATIENCE,
    )
    .toEqual([
      ['migration', 'confirmed'],
      ['migration', 'reverted'],
    ])
  const [newest] = await migrationsOf(id)
  const { body } = await admin.get<{ hypervisors: readonly Migration[] }>(
    '/compute/v2.1/os-hypervisors/detail',
  )
  const destination = body.hypervisors.find((each) => isOn(each, otherThan(own)))!
  expect(isIP(String(destination['host_ip']))).not.toBe(0)
  expect(newest).toMatchObject({ dest_compute: otherThan(own), dest_host: destination['host_ip'] })
  expect(newest?.['old_instance_type_id']).toEqual(expect.any(Number))
  expect(newest?.['new_instance_type_id']).toBe(newest?.['old_instance_type_id'])
  await demo.delete(`${SERVERS}/${id}`)
})

test('a server that was resized has its new flavor still after the revert of a migration', async () => {
  const { id } = await activeServer(cloud, demo)
  const ramOf = async () =>
    ((await showServer(demo, id, '2.47'))['flavor'] as { readonly ram: number }).ram
  const before = await ramOf()
  await act(demo, id, { resize: { flavorRef: cloud.catalog.small } })
  await untilStatus(demo, id, 'VERIFY_RESIZE')
  await act(demo, id, { confirmResize: null })
  await untilStatus(demo, id, 'ACTIVE')
  const resized = await ramOf()
  expect(resized).toBeGreaterThan(before)

  await act(admin, id, { migrate: null })
  await untilStatus(demo, id, 'VERIFY_RESIZE')
  await act(demo, id, { revertResize: null })
  await untilStatus(demo, id, 'ACTIVE')

  expect(await ramOf()).toBe(resized)
  await expectInvariants(cloud)
  await demo.delete(`${SERVERS}/${id}`)
})

test('a live migration is listed while it is under way, may be called off, and ends elsewhere', async () => {
  const { id } = await activeServer(cloud, demo)
  const own = await hostOf(id)
  const live = { 'os-migrateLive': { host: null, block_migration: 'auto' } }
  const at = `${SERVERS}/${id}/migrations`
  hostNamed(own).fail({ method: 'send', effect: { do: 'hang' } })

  expect((await act(admin, id, live, { version: '2.34' })).status).toBe(202)

  const listed = async () =>
    (await admin.get<{ migrations: readonly Migration[] }>(at, { version: '2.23' })).body.migrations
  await expect.poll(listed, PATIENCE).toEqual([
    expect.objectContaining({
      status: 'running',
      memory_total_bytes: 128 * 1024 ** 2,
      memory_remaining_bytes: 128 * 1024 ** 2,
      memory_processed_bytes: 0,
      disk_total_bytes: null,
    }),
  ])
  expect((await showServer(demo, id)).status).toBe('MIGRATING')
  const number = String((await listed())[0]!['id'])
  expect((await admin.get(`${at}/${number}`, { version: '2.23' })).status).toBe(200)
  const force = { force_complete: null }
  expect((await admin.post(`${at}/${number}/action`, force, { version: '2.22' })).status).toBe(202)
  await expect
    .poll(async () => {
      await admin.delete(`${at}/${number}`, { version: '2.24' })
      return (await showServer(demo, id)).status
    }, PATIENCE)
    .toBe('ACTIVE')
  expect(await hostOf(id)).toBe(own)
  await expect.poll(async () => (await migrationsOf(id))[0]?.['status'], PATIENCE).toBe('cancelled')
  hostNamed(own).fail()
  expect((await act(admin, id, live, { version: '2.34' })).status).toBe(202)
  await untilSettled(cloud, id)

  expect(await hostOf(id)).toBe(otherThan(own))
  await expect.poll(async () => (await migrationsOf(id))[0]?.['status'], PATIENCE).toBe('completed')
  expect(await listed()).toEqual([])
  await demo.delete(`${SERVERS}/${id}`)
})

test('a server of a dead host is evacuated, and is on one host only once that host is back', async () => {
  const { id } = await activeServer(cloud, demo)
  const own = await hostOf(id)
  const down = (host: string, forced_down: boolean) =>
    admin.put(
      '/compute/v2.1/os-services/force-down',
      { host, binary: 'nova-compute', forced_down },
      { version: '2.11' },
    )
  const leftBy = async (host: string) => {
    await down(host, false)
    await expect.poll(() => hostNamed(host).guests(), PATIENCE).not.toContain(id)
  }
  await down(own, true)

  const answer = await act(admin, id, { evacuate: { onSharedStorage: false } }, { version: '2.1' })

  expect([answer.status, answer.body]).toMatchObject([200, { adminPass: expect.any(String) }])
  await expect.poll(() => hostOf(id), PATIENCE).toBe(otherThan(own))
  await untilStatus(demo, id, 'ACTIVE')
  await leftBy(own)
  await down(otherThan(own), true)
  expect((await act(admin, id, { evacuate: {} }, { version: '2.95' })).status).toBe(200)
  await expect.poll(() => hostOf(id), PATIENCE).toBe(own)
  await untilStatus(demo, id, 'SHUTOFF')
  await leftBy(otherThan(own))
  await demo.delete(`${SERVERS}/${id}`)
  await expectInvariants(cloud)
})
