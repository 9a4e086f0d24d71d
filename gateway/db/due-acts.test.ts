import { afterAll, beforeAll, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import { type CellId, newId } from '#common/ids.ts'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import { sampleServer } from '#test/env/sample-server.ts'
import { unconfirmedResizes } from './due-acts.ts'
import { queueMappings } from './instance-mappings.ts'
import { queueServers } from './server-index.ts'

let db: Database

beforeAll(async () => {
  const url = await migratedDatabase('due_acts', 'gateway')
  db = new Database({ url, connectionsMax: 2 })
})

afterAll(() => db[Symbol.asyncDispose]())

test('a resize that ended while the clock was an hour ahead waits for its time from when that was set back', async () => {
  const owner = { projectId: 'p'.repeat(32), userId: 'u'.repeat(32) }
  const cellId = newId<CellId>()
  const server = sampleServer(owner, null, { vmState: 'resized', taskState: null })
  const mapping = { serverId: server.id, projectId: owner.projectId, cores: 1, ramMb: 1, cellId }
  await db.transaction(async (tx) => {
    queueMappings(tx, [{ ...mapping, attempt: 1, sagaId: null }])
    queueServers(tx, [{ ...server, addresses: {} }])
  })
  await db.orm.execute('UPDATE instance_mappings SET is_resizing = true')
  await db.orm.execute('UPDATE server_index SET updated_at = now(3) + INTERVAL 1 HOUR')
  const ids = async (ageS: number) =>
    (await unconfirmedResizes(db, ageS, 10)).map(({ serverId }) => serverId)

  expect(await ids(240)).toEqual([])
  expect(await ids(0)).toEqual([server.id])
})
