import { and, eq, type SQL, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { builder, type Statement, sqlStatement, statement } from '#common/db/statement.ts'
import { quotaClasses, quotaLimits, quotaUsages } from './schema/resources.ts'
import type { ProjectUser } from './user-quota-limits.ts'

/** One entry of the ledger, and the limit it is held against. */
export interface UsageEntry {
  /** Whose use it is: a project, or a user for key pairs. */
  readonly ownerId: string
  /** Whose limit applies. */
  readonly projectId: string
  readonly resource: string
  /** Applies where neither the project nor the default class sets one. */
  readonly fallbackLimit: number
}

/** The quota class whose limits apply to projects without limits of their own. */
export const DEFAULT_CLASS = 'default'

/** More than there is of anything. */
export const UNLIMITED_AS_NUMBER = 2 ** 31 - 1

const resource = sql.placeholder('resource')
const amount = sql.placeholder('amount')

const ofProject = builder
  .select({ hardLimit: quotaLimits.hardLimit })
  .from(quotaLimits)
  .where(
    and(
      eq(quotaLimits.projectId, sql.placeholder('projectId')),
      eq(quotaLimits.resource, resource),
    ),
  )
const ofClass = builder
  .select({ hardLimit: quotaClasses.hardLimit })
  .from(quotaClasses)
  .where(and(eq(quotaClasses.className, DEFAULT_CLASS), eq(quotaClasses.resource, resource)))

/** The limit of the project for the resource, or else the fallback; -1: unlimited. */
export const limit: SQL<number> = sql<number>`coalesce((${ofProject}), (${ofClass}), ${sql.placeholder('fallbackLimit')})`

const isEntry = and(
  eq(quotaUsages.ownerId, sql.placeholder('ownerId')),
  eq(quotaUsages.resource, resource),
)

const charge = statement(
  builder
    .update(quotaUsages)
    .set({ used: sql`${quotaUsages.used} + ${amount}` })
    .where(
      and(
        isEntry,
        sql`${quotaUsages.used} + ${amount} <= coalesce(nullif(${limit}, -1), ${UNLIMITED_AS_NUMBER})`,
      ),
    ),
)

const refund = statement(
  builder
    .update(quotaUsages)
    .set({ used: sql`greatest(${quotaUsages.used} - ${amount}, 0)` })
    .where(isEntry),
)

/** Not IGNORE: that would leave a shared lock, and two who then charge would deadlock. */
const open = statement(
  builder
    .insert(quotaUsages)
    .values({ ownerId: sql.placeholder('ownerId'), resource, used: 0 })
    .onDuplicateKeyUpdate({ set: { used: sql`${quotaUsages.used}` } }),
)

const selectUsed = statement(
  builder
    .select({ used: quotaUsages.used, limit: limit.as('hard_limit') })
    .from(quotaUsages)
    .where(isEntry),
)

const selectOwner = statement(
  builder
    .select({ resource: quotaUsages.resource, used: quotaUsages.used })
    .from(quotaUsages)
    .where(eq(quotaUsages.ownerId, sql.placeholder('ownerId'))),
)

/** True and counted, or false and unchanged: usage is never above the limit, at any concurrency. */
export async function chargeUsage(tx: Tx, entry: UsageEntry, units: number): Promise<boolean> {
  const values = { ...entry, amount: units }
  const charged = await tx.run(charge, values)
  if (charged.affectedRows === 1) return true
  // The owner's first use finds no row yet; another transaction may be making it, and is waited for.
  await tx.run(open, values)
  return (await tx.run(charge, values)).affectedRows === 1
}

/** One resource of a charge: how much, and the limit where neither the project nor the default class sets one. */
export interface Charge {
  readonly resource: string
  readonly units: number
  readonly fallbackLimit: number
}

const TOGETHER = new Map<string, Statement>()

/**
 * Counts all, or the transaction fails with `otherwise`, also when a resource was never used before and when the user
 * has limits of their own: one statement, because the rows are the most contended there are and each round trip more
 * would hold them longer.
 */
export function queueCharges(
  tx: Tx,
  owner: ProjectUser,
  charges: readonly Charge[],
  otherwise: () => Error,
): void {
  const values: Record<string, unknown> = { ...owner }
  charges.forEach(({ resource: name, units, fallbackLimit }, index) => {
    values[`resource${index}`] = name
    values[`amount${index}`] = units
    values[`limit${index}`] = fallbackLimit
  })
  const key = String(charges.length)
  const known = TOGETHER.get(key) ?? togetherStatement(charges.length)
  TOGETHER.set(key, known)
  tx.queue(known, values, { rows: charges.length, otherwise })
}

/** One statement for the rows of all resources, of which each must match: a join of them costs twice as much. */
function togetherStatement(count: number): Statement {
  const charges = Array.from({ length: count }, (_, index) => index)
  const of = (what: 'amount' | 'limit') =>
    sql`case resource ${sql.join(
      charges.map(
        (n) => sql`when ${sql.placeholder(`resource${n}`)} then ${sql.placeholder(`${what}${n}`)}`,
      ),
      sql` `,
    )} end`
  const projectId = sql.placeholder('projectId')
  const names = charges.map((n) => sql`${sql.placeholder(`resource${n}`)}`)
  return sqlStatement(
    sql`update quota_usages set used = used + ${of('amount')}
      where owner_id = ${projectId} and resource in (${sql.join(names, sql`, `)})
      and used + ${of('amount')} <= coalesce(nullif(coalesce(
        (select hard_limit from quota_limits l where l.project_id = ${projectId} and l.resource = quota_usages.resource),
        (select hard_limit from quota_classes c where c.class_name = ${DEFAULT_CLASS} and c.resource = quota_usages.resource),
        ${of('limit')}), -1), ${UNLIMITED_AS_NUMBER})
      and not exists (select 1 from user_quota_limits
      where project_id = ${projectId} and user_id = ${sql.placeholder('userId')})`,
    { sums: charges.map((n) => `amount${n}`) },
  )
}

/** Afterwards the owner's use is lower by so much, but not below zero. */
export function queueUsageRefund(
  tx: Tx,
  entry: Pick<UsageEntry, 'ownerId' | 'resource'>,
  units: number,
): void {
  tx.queue(refund, { ...entry, amount: units })
}

/**
 * Afterwards nobody charges the project for servers until the transaction ends. The row is really changed, back and
 * forth: a cluster of databases notices conflicts only of rows that were.
 */
export function queueProjectLock(tx: Tx, projectId: string): void {
  const entry = { ownerId: projectId, resource: 'instances' }
  tx.queue(ADD, { ...entry, amount: 1 })
  tx.queue(refund, { ...entry, amount: 1 })
}

const ADD = statement(
  builder
    .insert(quotaUsages)
    .values({ ownerId: sql.placeholder('ownerId'), resource, used: sql`${amount}` })
    .onDuplicateKeyUpdate({ set: { used: sql`${quotaUsages.used} + ${amount}` } }),
)

/** Afterwards the owner's usage is higher by this amount, regardless of the limit: the object exists already. */
export function queueUsageCharge(
  tx: Tx,
  entry: Pick<UsageEntry, 'ownerId' | 'resource'>,
  units: number,
): void {
  tx.queue(ADD, { ...entry, amount: units })
}

/** The use and the limit that a charge was held against. */
export async function usageAndLimit(
  db: Executor,
  entry: UsageEntry,
): Promise<{ readonly used: number; readonly limit: number }> {
  const rows = await db.rows<{ used: number; hard_limit: number }>(selectUsed, { ...entry })
  const row = rows[0]
  if (row === undefined) throw new Error(`No ledger row for ${entry.resource}`)
  return { used: row.used, limit: row.hard_limit }
}

/** Everything the ledger holds of an owner; what was never used is absent. */
export async function usagesOf(
  db: Executor,
  ownerId: string,
): Promise<ReadonlyMap<string, number>> {
  const rows = await db.rows<{ resource: string; used: number }>(selectOwner, { ownerId })
  return new Map(rows.map((row) => [row.resource, row.used]))
}
