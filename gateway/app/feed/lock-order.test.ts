import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Database } from '#common/db/database.ts'
import { type CellId, newId } from '#common/ids.ts'
import type { FeedBody } from '#openapi/wire/feed.ts'
import { addSnapshot, addVolume, snapshotView, volumeView } from '#test/env/fed-volumes.ts'
import { addCell, globalDatabase } from '#test/env/indexed-servers.ts'
import { actUntilWaiting } from '#test/env/lock-waits.ts'
import { applyVolumeSnapshots } from './apply-volume-snapshots.ts'
import { applyVolumes } from './apply-volumes.ts'

// Goal: a batch locks its volumes and snapshots in order of id, whatever its own order: two gateways that each wait for what
// the other has locked would end in a deadlock.

let db: Database
let cellId: CellId

beforeAll(async () => {
  db = await globalDatabase('feed_lock_order')
  cellId = await addCell(db, 'north')
})
afterAll(() => db?.[Symbol.asyncDispose]())

interface Kind {
  readonly table: string
  readonly add: typeof addVolume | typeof addSnapshot
  readonly apply: typeof applyVolumes
  readonly row: (id: string) => FeedBody
}
const volume = { table: 'volumes', add: addVolume, apply: applyVolumes }
const snapshot = { table: 'volume_snapshots', add: addSnapshot, apply: applyVolumeSnapshots }
const KINDS: Readonly<Record<string, Kind>> = {
  'views of volumes': { ...volume, row: (id) => ({ kind: 'volume', view: volumeView(id) }) },
  'views of snapshots': {
    ...snapshot,
    row: (id) => ({ kind: 'volume-snapshot', view: snapshotView(id) }),
  },
  'ends of snapshots': {
    ...snapshot,
    row: (id) => ({ kind: 'volume-snapshot-deleted', snapshotId: id, at: 1 }),
  },
}

test.each(Object.entries(KINDS))('%s that wait for the first keep no other', async (_, kind) => {
  const place = { cellId, projectId: newId<string>() }
  const ids = [await kind.add(db, place), await kind.add(db, place)] as readonly string[]
  const [first, second] = ids.toSorted() as [string, string]
  const bodies = [kind.row(second), kind.row(first)]
  const rows = bodies.map((body, index) => ({ n: index + 1, body }))
  const table = sql.identifier(kind.table)

  const { acted, free } = await db.transaction(async (tx) => {
    await tx.orm.execute(sql`select 1 from ${table} where id = ${first} for update`)
    const apply = () => db.transaction((other) => kind.apply(other, cellId, rows))
    const { acted } = await actUntilWaiting(db, apply)
    const [found] = await tx.orm.execute(
      sql`select id from ${table} where id = ${second} for update skip locked`,
    )
    return { acted, free: found }
  })
  await acted

  expect(free).toEqual([{ id: second }])
})
