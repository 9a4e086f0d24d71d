import { expect, test } from 'vitest'
import { recordStores, recordUnknownObjects } from '#cells/db/stores.ts'
import { Database } from '#common/db/database.ts'
import { type HostId, newId } from '#common/ids.ts'
import { freshDatabase } from '#test/env/fresh-database.ts'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import { examineStores } from './examine-stores.ts'

test('objects that a cell does not know are counted, and a database that cannot be read is told', async () => {
  const url = await migratedDatabase('doctor_stores', 'cells')
  const examine = () => examineStores([{ name: 'north' }], () => url)
  expect(await examine()).toMatchObject({ is: 'ok' })

  const common = { engine: 'dir', totalBytes: 1, freeBytes: 1, isShared: true, multiattach: true }
  {
    await using db = new Database({ url, connectionsMax: 1 })
    const reports = ['one', 'two'].map((id) => ({ id, name: id, ...common }))
    await db.transaction((tx) => recordStores(tx, newId<HostId>(), reports))
    await recordUnknownObjects(db, 'one', 2)
    await recordUnknownObjects(db, 'two', 1)
  }
  expect(await examine()).toMatchObject({ is: 'note', what: expect.stringContaining('north 3') })

  const empty = await freshDatabase('doctor_stores_empty')
  expect(await examineStores([{ name: 'north' }], () => empty)).toMatchObject({ is: 'bad' })
})
