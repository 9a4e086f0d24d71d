import { and, inArray, lt } from 'drizzle-orm'
import type { Transactional } from '../db/database.ts'
import { sagaEvents, sagas } from './schema.ts'

/** Removes at most `max` sagas that ended before a time, with their logs. Returns how many. */
export async function purgeSagas(
  db: Transactional,
  endedBefore: Date,
  max: number,
): Promise<number> {
  const isOld = and(inArray(sagas.state, ['done', 'unwound']), lt(sagas.endedAt, endedBefore))
  const rows = await db.orm.select({ id: sagas.id }).from(sagas).where(isOld).limit(max)
  if (rows.length === 0) return 0
  const ids = rows.map(({ id }) => id)
  await db.transaction(async (tx) => {
    await tx.orm.delete(sagaEvents).where(inArray(sagaEvents.sagaId, ids))
    await tx.orm.delete(sagas).where(inArray(sagas.id, ids))
  })
  return rows.length
}
