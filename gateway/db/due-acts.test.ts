import { eq, inArray, sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import { type CellId, newId } from '#common/ids.ts'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import { sampleServer } from '#test/env/sample-server.ts'
import { unconfirmedResizes } from './due-acts.ts'
import { queueMappings } from './instance-mappings.ts'
import { instanceMappings } from './schema/servers.ts'
import { queueServers } from './server-index.ts'

let db: Database

beforeAll(async () => {
  const url = await migratedDatabase('due_acts', 'gateway')
  db = new Database({ url, connectionsMax: 2 })
})

afterAll(() => db[Symbol.asyncDispose]())

async function resized(): Promise<string> {
  const owner = { projectId: 'p'.repeat(32), userId: 'u'.repeat(32) }
  const server = sampleServer(owner, null, { vmState: 'resized', taskState: null })
  const { id: serverId } = server
  const mapping = { serverId, projectId: owner.projectId, cores: 1, ramMb: 1 }
  await db.transaction(async (tx) => {
    queueMappings(tx, [{ ...mapping, cellId: newId<CellId>(), attempt: 1, sagaId: null }])
    queueServers(tx, [{ ...server, addresses: {} }])
  })
  await db.orm
    .update(instanceMappings)
    .set({ isResizing: true })
    .where(eq(instanceMappings.serverId, serverId))
  return serverId
}

test('those come first about which nothing was tried for longest', async () => {
  const ids = [await resized(), await resized(), await resized()]
  const [first, second, third] = ids
  for (const [serverId, minutesAgo] of [
    [second!, 3],
    [third!, 2],
    [first!, 1],
  ] as const)
    await db.orm
      .update(instanceMappings)
      .set({ changedAt: sql`now(3) - interval ${minutesAgo} minute` })
      .where(eq(instanceMappings.serverId, serverId))

  const due = await unconfirmedResizes(db, 0, 2)

  expect(due.map(({ serverId }) => serverId)).toEqual([second, third])
  await db.orm.delete(instanceMappings).where(inArray(instanceMappings.serverId, ids))
})

test('a resize that ended while the clock was an hour ahead waits for its time from when that was set back', async () => {
  const id = await resized()
  await db.orm.execute('UPDATE server_index SET updated_at = now(3) + INTERVAL 1 HOUR')
  const ids = async (ageS: number) =>
    (await unconfirmedResizes(db, ageS, 10)).map(({ serverId }) => serverId)

  expect(await ids(240)).toEqual([])
  expect(await ids(0)).toEqual([id])
})
