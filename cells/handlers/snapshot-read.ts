import { withinBytes } from '#common/bus/within-bytes.ts'
import type { CellAnswer, CellAsk } from '#openapi/wire/cell.ts'
import type { Cell } from '../cell.ts'
import { instanceView } from '../conductor/instance.ts'
import { readFeedState } from '../db/feed.ts'
import { instancePage } from '../db/instances.ts'
import { migrationsOf } from '../db/server-migrations.ts'

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
