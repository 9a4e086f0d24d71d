import { eq, sql } from 'drizzle-orm'
import type { Tx } from '#common/db/database.ts'
import { builder, statement } from '#common/db/statement.ts'
import { allocations } from '../db/schema/placement.ts'

const TRANSFER = statement(
  builder
    .update(allocations)
    .set({ consumerId: sql`${sql.placeholder('to')}` })
    .where(eq(allocations.consumerId, sql.placeholder('from'))),
)

/** Afterwards `to` holds what `from` held. No provider's usage changes; `to` must hold nothing there yet. */
export async function transfer(tx: Tx, from: string, to: string): Promise<void> {
  await tx.run(TRANSFER, { from, to })
}
