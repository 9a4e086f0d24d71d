import { desc } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import { newId } from '#common/ids.ts'
import { orderFor } from '#test/env/compute-core.ts'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import { serverIndex } from './schema/servers.ts'
import { queueServers } from './server-index.ts'
import { listServerPage, newestServers } from './server-list.ts'

const COUNT = 300
const projectId = newId<string>().replaceAll('-', '')
let db: Database

beforeAll(async () => {
  const url = await migratedDatabase('server-list', 'gateway')
  db = new Database({ url, connectionsMax: 2 })
  const { servers } = orderFor(null, { count: COUNT, projectId })
  // Many have one time, so that their ids decide the order.
  await db.transaction((tx) =>
    queueServers(
      tx,
      servers.map(({ row }) => ({ ...row, addresses: {}, requested: null })),
    ),
  )
})
afterAll(() => db?.[Symbol.asyncDispose]())

test.each([1, 125, 126, 299, 300, 1_000])(
  'a page of %d has each server once, in order',
  async (limit) => {
    const order = [{ key: 'created_at', isDescending: true }] as const
    const page = { conditions: [], order, marker: undefined, limit }

    const { createdAt, serverId: id } = serverIndex
    const rows = await db.orm
      .select({ id })
      .from(serverIndex)
      .orderBy(desc(createdAt), desc(id))
      .limit(limit)
    const newest = (await newestServers(db, projectId, limit)).map(({ id }) => id)
    const listed = (await listServerPage(db, page)).map(({ server }) => server.id)

    expect(newest).toHaveLength(Math.min(limit, COUNT))
    expect(newest).toEqual([...new Set(newest)])
    expect(newest).toEqual(rows.map((row) => row.id))
    expect(listed).toEqual(newest)
  },
)
