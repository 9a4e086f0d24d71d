import { withinBytes } from '#common/bus/within-bytes.ts'
import type { CellAnswer, CellAsk } from '#openapi/wire/cell.ts'
import type { Cell } from '../cell.ts'
import { instanceView } from '../conductor/instance.ts'
import { acknowledgeFeed, feedAfter, readFeedState } from '../db/feed.ts'
import { instancePage } from '../db/instances.ts'
import { deletedAttempts } from '../db/operations.ts'
import { migrationsOf } from '../db/server-migrations.ts'

/** Rows after a position, in order, as many as fit a page; what lies before it is taken as applied. */
export async function feedRead(
  { conductor, incarnation }: Cell,
  ask: CellAsk<'feed.read'>,
): Promise<CellAnswer<'feed.read'>> {
  const { db } = conductor
  if (ask.incarnation === incarnation) await acknowledgeFeed(db, ask.after)
  const rows = await feedAfter(db, ask.after, ask.limit)
  // Read last: rows that were trimmed while these were read are a gap, too.
  const { last, removed } = await readFeedState(db)
  const isGap = ask.incarnation !== incarnation || ask.after < removed || ask.after > last
  return { incarnation, isGap, last, rows: isGap ? [] : [...withinBytes(rows)] }
}

/** A page of the cell's instances. The position is read first, so the page is at least as new. */
export async function snapshotRead(
  { conductor, incarnation }: Cell,
  { afterInstance, limit }: CellAsk<'snapshot.read'>,
): Promise<CellAnswer<'snapshot.read'>> {
  const { db } = conductor
  const { last } = await readFeedState(db)
  const instances = await instancePage(db, afterInstance ?? '', limit)
  const ids = instances.map(({ id }) => id)
  const byServer = Map.groupBy(await migrationsOf(db, ids), ({ serverId }) => serverId)
  const shown = instances.map((instance) => ({
    view: instanceView(instance),
    migrations: byServer.get(instance.id) ?? [],
  }))
  const page = withinBytes(shown)
  return {
    incarnation,
    position: last,
    instances: page.map(({ view }) => view),
    migrations: page.flatMap(({ migrations }) => migrations),
    isLast: instances.length < limit && page.length === shown.length,
  }
}

/** The newest attempts of deleted servers of which the cell has nothing left. */
export async function snapshotEnded(
  { conductor }: Cell,
  { serverIds }: CellAsk<'snapshot.ended'>,
): Promise<CellAnswer<'snapshot.ended'>> {
  return { ended: [...(await deletedAttempts(conductor.db, serverIds))] }
}
