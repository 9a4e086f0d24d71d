import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitFor as waitForWithin } from '#common/wait-for.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import { endOfOperation } from '#test/env/api/operations.ts'
import { act, deleteServer, SERVERS, showServer, unboundServer } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { startDrivenHost } from '#test/env/driven-host.ts'
import { expectInvariants } from '#test/env/invariants.ts'
import { nestedSettingsFor } from '#test/env/nested-settings.ts'

// Goal: a server moves from a cell of hosts into a cloud below, and back, and is the same server.

interface Named {
  readonly id: string
  readonly name: string
}

const owned = new AsyncDisposableStack()
let top: Cloud
let below: Cloud
let demo: ApiClient
let admin: ApiClient

beforeAll(async () => {
  const small = { gateways: 1, processesPerCell: 1, hostsPerCell: 1 }
  below = owned.use(await startCloud({ ...small, cells: 1 }))
  top = owned.use(await startCloud({ ...small, cells: 2 }))
  owned.use(await startDrivenHost(top, 'nested', nestedSettingsFor(below)))
  demo = top.as('demo')
  admin = top.as('admin')
  const { hosts } = (await admin.get<{ hosts: readonly Named[] }>('/federation/v1/hosts')).body
  const north = hosts.find(({ name }) => name === 'north-1')!
  await admin.call('PATCH', `/federation/v1/hosts/${north.id}`, { is_cordoned: true })
})
afterAll(() => owned.disposeAsync())

async function moved(id: string, cell: string): Promise<void> {
  const path = `/federation/v1/servers/${id}/move`
  const { status, body } = await admin.post<Named>(path, { cell })
  expect(status, JSON.stringify(body)).toBe(202)
  const ended = await endOfOperation(admin, body.id)
  expect(ended, ended.message ?? '').toMatchObject({ state: 'done' })
}

const serversBelow = async () =>
  (await below.as('demo').get<{ servers: readonly Named[] }>(SERVERS)).body.servers

test('a server goes down into another cloud and comes back', async () => {
  const made = await unboundServer(top, demo, 'south', { name: 'diver' })
  const { id } = made

  await moved(id, 'north')

  expect((await serversBelow()).map(({ name }) => name)).toEqual(['diver'])
  const there = await showServer(demo, id)
  expect(there).toMatchObject({ status: 'ACTIVE', addresses: made.addresses })
  expect((await act(demo, id, { 'os-getConsoleOutput': {} })).body['output']).toContain(
    'booted diver',
  )

  await moved(id, 'south')

  await waitForWithin(
    'the cloud below to let go',
    async () => (await serversBelow()).length === 0,
    30_000,
  )
  expect(await showServer(demo, id)).toMatchObject({ status: 'ACTIVE', addresses: made.addresses })
  const [host] = top.cell('south').computes
  expect(await host!.guests()).toEqual([id])
  await deleteServer(demo, id)
  await expectInvariants(top)
  await expectInvariants(below)
})
