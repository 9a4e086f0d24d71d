import { eq, sql } from 'drizzle-orm'
import type { Tx } from '#common/db/database.ts'
import { networks, ports, securityGroups, subnets } from './schema/network.ts'

/** Collections whose objects have tags, as paths name them. */
const TAGGED = { networks, subnets, ports, 'security-groups': securityGroups } as const
export type TaggedCollection = keyof typeof TAGGED

/** The object's tags, which nobody else changes until the transaction ends; undefined when it is gone. */
export async function lockTags(
  tx: Tx,
  collection: TaggedCollection,
  id: string,
): Promise<readonly string[] | undefined> {
  const table = TAGGED[collection]
  const [row] = await tx.orm
    .select({ tags: table.tags })
    .from(table)
    .where(eq(table.id, id))
    .for('update')
  return row?.tags
}

/** Afterwards the object has these tags. */
export async function writeTags(
  tx: Tx,
  collection: TaggedCollection,
  { id, tags, now }: { readonly id: string; readonly tags: readonly string[]; readonly now: Date },
): Promise<void> {
  const table = TAGGED[collection]
  await tx.orm
    .update(table)
    .set({ tags, updatedAt: now, revision: sql`${table.revision} + 1` })
    .where(eq(table.id, id))
}
