import { afterAll, beforeAll, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import type { InstanceId } from '#common/ids.ts'
import type { VmState } from '#common/states/instance-states.ts'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import { sampleServer } from '#test/env/sample-server.ts'
import { queueMappings } from './instance-mappings.ts'
import { queueServers } from './server-index.ts'
import { markSoftDeleted, unsettledServers } from './soft-deleted-servers.ts'

let db: Database

beforeAll(async () => {
  const url = await migratedDatabase('kept', 'gateway')
  db = new Database({ url, connectionsMax: 2 })
})

afterAll(() => db[Symbol.asyncDispose]())

/** A server that was deleted softly that many minutes ago, as it is now. */
async function kept(vmState: VmState, isCharged: boolean, minutesAgo: number): Promise<InstanceId> {
  const owner = { projectId: 'p'.repeat(32), userId: 'u'.repeat(32) }
  const server = sampleServer(owner, null, { vmState, taskState: null })
  const { projectId } = owner
  const charged = { serverId: server.id, projectId, cores: 1, ramMb: 1 }
  const mapping = { ...charged, cellId: null, attempt: 1, sagaId: null }
  await db.transaction(async (tx) => {
    queueMappings(tx, [mapping])
    queueServers(tx, [{ ...server, addresses: {} }])
    await markSoftDeleted(tx, server.id, { isKept: true, isCharged })
  })
  await db.orm.execute(
    `UPDATE instance_mappings SET changed_at = now(3) - INTERVAL ${minutesAgo} MINUTE WHERE server_id = '${server.id}'`,
  )
  return server.id
}

test('servers that only wait for their time keep no others waiting', async () => {
  for (const minutesAgo of [1, 2, 3]) await kept('soft-delete', false, minutesAgo)
  const back = await kept('active', true, 1)
  const notRestored = await kept('soft-delete', true, 1)
  const due = await kept('soft-delete', false, 5)

  const found = await unsettledServers(db, 4 * 60, 3)

  expect(new Set(found.map(({ serverId }) => serverId))).toEqual(new Set([back, notRestored, due]))
  expect(found.find(({ serverId }) => serverId === back)).toMatchObject({ isDeleted: false })
  expect(found.find(({ serverId }) => serverId === due)).toMatchObject({ isCharged: false })
})

test('one that was deleted while the clock was an hour ahead is kept for its time from when that was set back', async () => {
  const ahead = await kept('soft-delete', false, -60)
  const ids = async (ageS: number) =>
    (await unsettledServers(db, ageS, 100)).map(({ serverId }) => serverId)

  expect(await ids(240)).not.toContain(ahead)
  expect(await ids(0)).toContain(ahead)
})
