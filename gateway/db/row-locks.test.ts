import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Database, Tx } from '#common/db/database.ts'
import type { CellId } from '#common/ids.ts'
import { activeView, addCell, addServer, globalDatabase } from '#test/env/indexed-servers.ts'
import { queueMappingRemoval } from './mapping-batches.ts'
import { queuePasswordErasure } from './request-specs.ts'
import { queueIndexedDeleted, queueViews } from './server-index.ts'
import { queuePortBindings } from './server-ports.ts'

// Goal: a statement about some servers locks no row of another, however few rows there are: a statement that reads the whole
// table waits for every server that is just being written, and two of them end in a deadlock.

let db: Database
let cellId: CellId

beforeAll(async () => {
  db = await globalDatabase('row_locks')
  cellId = await addCell(db, 'north')
})

afterAll(() => db?.[Symbol.asyncDispose]())

const WRITES: Readonly<Record<string, (tx: Tx, serverId: string) => void>> = {
  'erasing passwords': (tx, serverId) =>
    queuePasswordErasure(tx, cellId, [{ serverId, attempt: 1 }]),
  'applying views': (tx, serverId) => {
    const views = [activeView(serverId), activeView('0'.repeat(36))]
    queueViews(tx, cellId, views)
    queuePortBindings(tx, cellId, views)
  },
  'showing as deleted': (tx, serverId) => queueIndexedDeleted(tx, [{ serverId, attempt: 1 }]),
  'removing mappings': (tx, serverId) => queueMappingRemoval(tx, [{ serverId, attempt: 1 }]),
}

test.each(Object.entries(WRITES))('%s of one server waits for no other', async (_, write) => {
  const others = [await addServer(db, cellId), await addServer(db, cellId)]
  const own = await addServer(db, cellId)

  const written = await db.transaction(async (tx) => {
    for (const other of others)
      for (const table of ['instance_mappings', 'server_index', 'request_specs'])
        await tx.orm.execute(`select 1 from ${table} where server_id = '${other}' for update`)
    await db.transaction((inner) => write(inner, own))
    return true
  })

  expect(written).toBe(true)
})
