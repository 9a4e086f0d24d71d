import type { Transactional } from '#common/db/database.ts'
import { newId } from '#common/ids.ts'
import { type Aggregate, insertAggregate } from '../../db/aggregates.ts'
import { showAggregate } from './find-aggregate.ts'
import { ZONE_KEY } from './zones.ts'

/** Makes an aggregate without hosts; `zone` null: it is no zone. Throws `conflict` for a name in use. */
export async function createAggregate(
  db: Transactional,
  { name, zone }: { readonly name: string; readonly zone: string | null },
): Promise<Aggregate> {
  const metadata: Record<string, string> = zone === null ? {} : { [ZONE_KEY]: zone }
  const id = await db.transaction((tx) => insertAggregate(tx, { uuid: newId(), name, metadata }))
  return showAggregate(db, String(id))
}
