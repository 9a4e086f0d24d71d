import { eq, or } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { projects } from './schema/identity.ts'
import { images } from './schema/image.ts'
import { networks } from './schema/network.ts'
import { flavors } from './schema/resources.ts'
import { volumes } from './schema/volumes.ts'

export type Named = 'flavor' | 'image' | 'network' | 'project' | 'volume'

const TABLES = {
  flavor: flavors,
  image: images,
  network: networks,
  project: projects,
  volume: volumes,
} as const

/** Ids, at most `max`, of what has this id or name. */
export async function idsNamed(
  db: Executor,
  what: Named,
  idOrName: string,
  max: number,
): Promise<readonly string[]> {
  const table = TABLES[what]
  const rows = await db.orm
    .select({ id: table.id })
    .from(table)
    .where(or(eq(table.id, idOrName), eq(table.name, idOrName)))
    .limit(max)
  return rows.map(({ id }) => id)
}
