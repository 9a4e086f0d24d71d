import { and, eq, inArray, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { rowsInsert } from '#common/db/insert-rows.ts'
import { portBindings } from './schema/network.ts'

const KEEP = rowsInsert(portBindings, ['portId', 'isUp'], {
  onDuplicate: sql`is_up = values(is_up)`,
})

/** Notes whether these ports work. */
export function queuePortBindings(
  tx: Tx,
  bindings: readonly { readonly portId: string; readonly isUp: boolean }[],
): void {
  KEEP.queue(tx, bindings)
}

/** Which of these ports do not work, as far as is known. */
export async function portsNotUp(db: Executor, ids: readonly string[]): Promise<readonly string[]> {
  const rows = await db.orm
    .select({ id: portBindings.portId })
    .from(portBindings)
    .where(and(inArray(portBindings.portId, [...ids]), eq(portBindings.isUp, true)))
  const up = new Set(rows.map(({ id }) => id))
  return ids.filter((id) => !up.has(id))
}

/** Afterwards nothing is noted of these ports. */
export async function forgetPortBindings(tx: Tx, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await tx.orm.delete(portBindings).where(inArray(portBindings.portId, [...ids]))
}
