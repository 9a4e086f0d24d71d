import { and, asc, eq, inArray, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { builder, sqlStatement, statement } from '#common/db/statement.ts'
import { tableLookup } from '#common/db/table-lookup.ts'
import { Failure } from '#common/errors.ts'
import type { HostId } from '#common/ids.ts'
import type { WireStore } from '#openapi/wire/volume.ts'
import type { Store } from '../volumes/store.ts'
import { storeHosts, stores } from './schema/volumes.ts'

const p = sql.placeholder

const CLAIM = statement(
  builder
    .update(stores)
    .set({ promisedGb: sql`promised_gb + ${p('sizeGb')}` })
    .where(and(eq(stores.id, p('storeId')), sql`promised_gb + ${p('sizeGb')} <= ${p('limitGb')}`)),
)
const RETURN = statement(
  builder
    .update(stores)
    .set({ promisedGb: sql`promised_gb - ${p('sizeGb')}` })
    .where(eq(stores.id, p('storeId'))),
)

/** Every store that a host of this cell has reported, in order of id. */
export async function readStores(db: Executor): Promise<readonly Store[]> {
  const rows = await db.orm
    .select({ store: stores, hostId: storeHosts.hostId })
    .from(stores)
    .leftJoin(storeHosts, eq(storeHosts.storeId, stores.id))
    .orderBy(asc(stores.id), asc(storeHosts.hostId))
  return [...Map.groupBy(rows, ({ store }) => store.id).values()].map((reached) => {
    const { updatedAt: _, largestVolumeBytes, lacks, ...store } = reached[0]!.store
    return {
      ...store,
      ...(largestVolumeBytes !== null && { largestVolumeBytes }),
      ...(lacks !== null && { lacks }),
      hostIds: reached.flatMap(({ hostId }) => (hostId === null ? [] : [hostId as HostId])),
    }
  })
}

const REACHING = tableLookup(storeHosts, 'storeId')

/** The hosts that reach a store. */
export async function hostsOfStore(db: Executor, storeId: string): Promise<readonly HostId[]> {
  const rows = await REACHING.all(db, storeId)
  return rows.map(({ hostId }) => hostId as HostId)
}

/** Afterwards the host reaches these stores and no other, and they are as it reports. Stores that no host reaches stay. */
export async function recordStores(
  tx: Tx,
  hostId: HostId,
  reports: readonly WireStore[],
): Promise<void> {
  for (const report of reports) {
    const { encrypts = false, largestVolumeBytes = null, lacks = null } = report
    const shown = { ...report, encrypts, largestVolumeBytes, lacks, updatedAt: sql`now(3)` }
    const { id: _, ...changed } = shown
    await tx.orm.insert(stores).values(shown).onDuplicateKeyUpdate({ set: changed })
  }
  const seen = await tx.orm.select().from(storeHosts).where(eq(storeHosts.hostId, hostId))
  const now = new Set(reports.map(({ id }) => id))
  const gone = seen.map(({ storeId }) => storeId).filter((id) => !now.has(id))
  if (gone.length > 0)
    await tx.orm
      .delete(storeHosts)
      .where(and(eq(storeHosts.hostId, hostId), inArray(storeHosts.storeId, gone)))
  const known = new Set(seen.map(({ storeId }) => storeId))
  const added = [...now].filter((id) => !known.has(id))
  if (added.length > 0)
    await tx.orm
      .insert(storeHosts)
      .ignore()
      .values(added.map((storeId) => ({ storeId, hostId })))
}

/** Afterwards the store shows how many objects of it the cell does not know. */
export async function recordUnknownObjects(db: Executor, id: string, count: number): Promise<void> {
  await db.orm.update(stores).set({ unknownObjects: count }).where(eq(stores.id, id))
}

const PURGE = sqlStatement(sql`
  delete s from stores s where s.promised_gb = 0
    and not exists (select 1 from store_hosts h where h.store_id = s.id)
    and not exists (select 1 from volumes v where v.store_id = s.id)`)
const LEAVE = sqlStatement(sql`
  delete r from store_hosts r join hosts h on h.host_id = r.host_id where h.is_deleted`)

/** Forgets the stores that no host reaches and that have no volume. Returns how many. */
export async function purgeStores(db: Executor): Promise<number> {
  await db.run(LEAVE, {})
  return (await db.run(PURGE, {})).affectedRows
}

/** The size of a volume in a store. */
export interface StoreClaim {
  readonly storeId: string
  readonly sizeGb: number
}

/** Takes the size from what the store may promise; the transaction fails with `no-capacity` when too little is left. */
export function queueStoreClaim(tx: Tx, claim: StoreClaim, limitGb: number): void {
  const otherwise = () =>
    new Failure('no-capacity', `Store ${claim.storeId} has no room for ${claim.sizeGb} GiB more.`)
  tx.queue(CLAIM, { ...claim, limitGb }, { rows: 1, otherwise })
}

/** Gives back what a volume took. */
export function queueStoreReturn(tx: Tx, claim: StoreClaim): void {
  tx.queue(RETURN, { ...claim })
}
