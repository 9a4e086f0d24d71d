import { afterAll, beforeAll, expect, test } from 'vitest'
import { applyHostViews } from '#gateway/db/host-index.ts'
import { serverIndex } from '#gateway/db/schema/servers.ts'
import { queueServers } from '#gateway/db/server-index.ts'
import type { HostView } from '#openapi/wire/host.ts'
import { type ApiClient, type ComputeApi, computeApi } from '#test/env/compute-api.ts'
import { sampleHost } from '#test/env/sample-host.ts'
import { sampleServer } from '#test/env/sample-server.ts'

let api: ComputeApi
let admin: ApiClient
let alice: ApiClient
let host: HostView

beforeAll(async () => {
  api = await computeApi('hosts', ['west'])
  admin = await api.user('admin', 'admin', 'admin')
  alice = await api.user('alice', 'blue', 'member')
  host = sampleHost('west-1', { zone: 'left' })
  const { db } = api.gateway
  await db.transaction(async (tx) => {
    // They are listed in the order in which they first reported, which is not that of one report.
    for (const view of [host, sampleHost('west-2')])
      await applyHostViews(tx, api.cells[0]!.id, [view])
    queueServers(
      tx,
      [1, 2].map(() => sampleServer(alice, api.cells[0]!.id)),
    )
  })
  await db.orm.update(serverIndex).set({ hostId: host.hostId, host: host.name })
  api.cells[0]!.overrides['host.set-service'] = (ask) => {
    host = { ...host, version: host.version + 1, ...ask }
    return host
  }
})

afterAll(() => api?.[Symbol.asyncDispose]())

const names = async (query = '') => {
  const { body } = await admin.call<{ hosts: { host_name: string }[] }>('listHosts', { query })
  return body.hosts.map(({ host_name }) => host_name)
}
const params = { host_name: 'west-1' }

test('hosts are listed by zone until 2.42', async () => {
  expect(await names()).toEqual(['west-1', 'west-2'])
  expect(await names('?zone=left')).toEqual(['west-1'])
  expect((await admin.call('listHosts', { version: '2.43' })).status).toBe(404)
  expect((await alice.call('listHosts')).status).toBe(403)
})

test('a host shows its amounts and those that each project uses', async () => {
  const { body } = await admin.call<{ host: { resource: object }[] }>('showHost', { params })
  expect(body.host.map(({ resource }) => resource)).toEqual([
    { host: 'west-1', project: '(total)', cpu: 8, memory_mb: 16_384, disk_gb: 100 },
    { host: 'west-1', project: '(used_now)', cpu: 2, memory_mb: 1_024, disk_gb: 10 },
    { host: 'west-1', project: '(used_max)', cpu: 2, memory_mb: 256, disk_gb: 2 },
    { host: 'west-1', project: alice.projectId, cpu: 2, memory_mb: 256, disk_gb: 2 },
  ])
  const none = { host_name: 'nobody' }
  expect((await admin.call('showHost', { params: none })).status).toBe(404)
})

test('a host is disabled and enabled; an operation that no driver supports answers 501', async () => {
  const set = (body: object) => admin.call('updateHost', { params, body })
  expect((await set({ status: 'disable' })).body).toEqual({ host: 'west-1', status: 'disabled' })
  expect(await names()).toEqual(['west-2'])
  expect((await set({ status: 'Enable' })).body).toEqual({ host: 'west-1', status: 'enabled' })
  expect((await set({ maintenance_mode: 'enable' })).status).toBe(501)
  expect((await set({})).status).toBe(400)
  for (const operation of ['rebootHost', 'shutHostDown', 'startHostUp'])
    expect((await admin.call(operation, { params })).status).toBe(501)
})
