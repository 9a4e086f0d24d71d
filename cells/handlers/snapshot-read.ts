import type { CellAnswer, CellAsk } from '#openapi/wire/cell.ts'
import type { Cell } from '../cell.ts'
import { instanceView } from '../conductor/instance.ts'
import { readFeedState } from '../db/feed.ts'
import { allHosts } from '../db/hosts.ts'
import { instancePage } from '../db/instances.ts'
import { migrationsOf } from '../db/server-migrations.ts'
import { hostView } from '../hosts/host.ts'

/** A page of everything the cell has. The position is read first, so the page is at least as new. */
export async function snapshotRead(
  { conductor, incarnation }: Cell,
  { afterInstance, limit }: CellAsk<'snapshot.read'>,
): Promise<CellAnswer<'snapshot.read'>> {
  const { db, ratios } = conductor
  const { last } = await readFeedState(db)
  const instances = await instancePage(db, afterInstance ?? '', limit)
  const hosts = afterInstance === null ? await allHosts(db) : []
  return {
    incarnation,
    position: last,
    instances: instances.map(instanceView),
    migrations: [
      ...(await migrationsOf(
        db,
        instances.map(({ id }) => id),
      )),
    ],
    hosts: hosts.map((host) => hostView(host, ratios)),
  }
}
