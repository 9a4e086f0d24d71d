import { eq, sql } from 'drizzle-orm'
import type { Tx } from '#common/db/database.ts'
import { networks, ports, securityGroups, subnetPools, subnets } from './schema/network.ts'
import { floatingIps, routers } from './schema/routing.ts'

/** Collections of described objects, as paths name them. */
const DESCRIBED = {
  networks,
  subnets,
  ports,
  'security-groups': securityGroups,
  routers,
  floatingips: floatingIps,
  subnetpools: subnetPools,
} as const
export type DescribedCollection = keyof typeof DESCRIBED

/** The object's tags, locked until the transaction ends; undefined when the object is gone. */
export async function lockTags(
  tx: Tx,
  collection: DescribedCollection,
  id: string,
): Promise<readonly string[] | undefined> {
  const table = DESCRIBED[collection]
  const [row] = await tx.orm
    .select({ tags: table.tags })
    .from(table)
    .where(eq(table.id, id))
    .for('update')
  return row?.tags
}

/** The object's revision, locked until the transaction ends; undefined when the object is gone. */
export async function lockRevision(
  tx: Tx,
  collection: DescribedCollection,
  id: string,
): Promise<number | undefined> {
  const table = DESCRIBED[collection]
  const [row] = await tx.orm
    .select({ revision: table.revision })
    .from(table)
    .where(eq(table.id, id))
    .for('update')
  return row?.revision
}

/** Afterwards the object has these tags. */
export async function writeTags(
  tx: Tx,
  collection: DescribedCollection,
  { id, tags, now }: { readonly id: string; readonly tags: readonly string[]; readonly now: Date },
): Promise<void> {
  const table = DESCRIBED[collection]
  await tx.orm
    .update(table)
    .set({ tags, updatedAt: now, revision: sql`${table.revision} + 1` })
    .where(eq(table.id, id))
}
