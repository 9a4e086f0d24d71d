import { and, eq, isNull, sql } from 'drizzle-orm'
import type { Tx } from '#common/db/database.ts'
import type { Rebuilt } from '../app/sagas/act-plan.ts'
import { serverIndex } from './schema/servers.ts'

/** Shows the server as it is being rebuilt or resized to be. */
export async function showRebuilt(tx: Tx, serverId: string, shown: Rebuilt): Promise<void> {
  await tx.orm
    .update(serverIndex)
    .set({ ...shown, updatedAt: sql`now(3)` })
    .where(and(eq(serverIndex.serverId, serverId), isNull(serverIndex.deletedAt)))
}
