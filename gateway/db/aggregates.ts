import { and, asc, eq, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { isDuplicate } from '#common/db/failures.ts'
import { lockRows } from '#common/db/lock-rows.ts'
import { Failure } from '#common/errors.ts'
import { aggregateHosts, aggregates } from './schema/aggregates.ts'

/** A host that is in an aggregate. */
export interface AggregateMember {
  readonly hostId: string
  readonly name: string
}

export interface Aggregate {
  readonly id: number
  readonly uuid: string
  readonly name: string
  readonly metadata: Readonly<Record<string, string>>
  /** In the order they were added. */
  readonly hosts: readonly AggregateMember[]
  readonly createdAt: Date
  readonly updatedAt: Date | null
}

/** All of them, by id: operators make few. */
export async function listAggregates(db: Executor): Promise<readonly Aggregate[]> {
  const rows = await db.orm.select().from(aggregates).orderBy(asc(aggregates.id))
  const members = await db.orm
    .select()
    .from(aggregateHosts)
    .orderBy(asc(aggregateHosts.createdAt), asc(aggregateHosts.name))
  const byAggregate = Map.groupBy(members, ({ aggregateId }) => aggregateId)
  return rows.map((row) => {
    const hosts = byAggregate.get(row.id) ?? []
    return { ...row, hosts: hosts.map(({ hostId, name }) => ({ hostId, name })) }
  })
}

/** All of them, locked: what may be done to one depends on the zones that others give to its hosts. */
export async function lockAggregates(tx: Tx): Promise<readonly Aggregate[]> {
  await lockRows(tx, aggregates, undefined, aggregates.id)
  return listAggregates(tx)
}

/** Adds an aggregate without hosts and returns its id. Throws `conflict` for a name in use. */
export async function insertAggregate(
  tx: Tx,
  aggregate: Pick<Aggregate, 'uuid' | 'name' | 'metadata'>,
): Promise<number> {
  const values = { ...aggregate, createdAt: sql`now(3)` }
  const [{ insertId }] = await named(aggregate.name, tx.orm.insert(aggregates).values(values))
  return insertId
}

/** Throws `conflict` for a name in use. */
export async function updateAggregate(
  tx: Tx,
  id: number,
  change: Partial<Pick<Aggregate, 'name' | 'metadata'>>,
): Promise<void> {
  const { name = '' } = change
  const set = { ...change, updatedAt: sql`now(3)` }
  await named(name, tx.orm.update(aggregates).set(set).where(eq(aggregates.id, id)))
}

export async function deleteAggregate(tx: Tx, id: number): Promise<void> {
  await tx.orm.delete(aggregates).where(eq(aggregates.id, id))
}

export async function insertAggregateHost(
  tx: Tx,
  aggregateId: number,
  { hostId, name }: AggregateMember,
): Promise<void> {
  await tx.orm.insert(aggregateHosts).values({ aggregateId, hostId, name, createdAt: sql`now(3)` })
}

export async function deleteAggregateHost(
  tx: Tx,
  aggregateId: number,
  hostId: string,
): Promise<void> {
  await tx.orm
    .delete(aggregateHosts)
    .where(and(eq(aggregateHosts.aggregateId, aggregateId), eq(aggregateHosts.hostId, hostId)))
}

/** Afterwards the host is in no aggregate. */
export async function deleteHostMemberships(tx: Tx, hostId: string): Promise<void> {
  await tx.orm.delete(aggregateHosts).where(eq(aggregateHosts.hostId, hostId))
}

async function named<T>(name: string, written: Promise<T>): Promise<T> {
  try {
    return await written
  } catch (error) {
    if (isDuplicate(error)) throw new Failure('conflict', `Aggregate ${name} already exists.`)
    throw error
  }
}
