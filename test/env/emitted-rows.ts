import type { Database } from '#common/db/database.ts'
import type { CellId } from '#common/ids.ts'
import { applyRows } from '#gateway/app/feed/apply-rows.ts'
import type { FeedBody } from '#openapi/wire/feed.ts'
import { notedNetwork } from './indexed-servers.ts'

/** Afterwards a gateway has applied all of this, which the cell says in one batch. */
export async function emitRows(db: Database, cell: CellId, bodies: readonly FeedBody[]) {
  const noted = notedNetwork()
  const rows = bodies.map((body, index) => ({ n: index + 1, body }))
  const applied = await db.transaction((tx) => applyRows(tx, noted, cell, rows))
  return { ...applied, ...noted }
}
