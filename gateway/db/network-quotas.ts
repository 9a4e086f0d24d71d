import { and, eq, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { builder, statement } from '#common/db/statement.ts'
import { networkQuotas } from './schema/network.ts'

export interface QuotaRow {
  readonly resource: string
  readonly used: number
  /** Null while the default holds. */
  readonly limit: number | null
}

const { placeholder } = sql
const isRow = and(
  eq(networkQuotas.projectId, placeholder('projectId')),
  eq(networkQuotas.resource, placeholder('resource')),
)
const effective = sql`COALESCE(${networkQuotas.limit}, ${placeholder('defaultLimit')})`

const CHARGE = statement(
  builder
    .update(networkQuotas)
    .set({ used: sql`${networkQuotas.used} + ${placeholder('amount')}` })
    .where(
      and(
        isRow,
        sql`(${effective} < 0 OR ${networkQuotas.used} + ${placeholder('amount')} <= ${effective})`,
      ),
    ),
  { sums: ['amount'] },
)

const OPEN = statement(
  builder
    .insert(networkQuotas)
    .values({ projectId: placeholder('projectId'), resource: placeholder('resource'), used: 0 })
    .onDuplicateKeyUpdate({ set: { used: sql`${networkQuotas.used}` } }),
)

const REFUND = statement(
  builder
    .update(networkQuotas)
    .set({ used: sql`GREATEST(${networkQuotas.used} - ${placeholder('amount')}, 0)` })
    .where(isRow),
)

export interface Charge {
  readonly projectId: string
  readonly resource: string
  readonly amount: number
  readonly defaultLimit: number
}

/** Raises what the project uses, unless that passes its limit: then false, and nothing changed. */
export async function chargeQuota(tx: Tx, charge: Charge): Promise<boolean> {
  const values = { ...charge }
  if ((await tx.run(CHARGE, values)).affectedRows === 1) return true
  await tx.run(OPEN, values)
  return (await tx.run(CHARGE, values)).affectedRows === 1
}

/** The same without an answer: the transaction fails with `otherwise` at the limit, and before the project's first use. */
export function queueCharge(tx: Tx, charge: Charge, otherwise: () => Error): void {
  tx.queue(CHARGE, { ...charge }, { rows: 1, otherwise })
}

const COUNT = statement(
  builder
    .insert(networkQuotas)
    .values({
      projectId: placeholder('projectId'),
      resource: placeholder('resource'),
      used: placeholder('amount'),
    })
    .onDuplicateKeyUpdate({ set: { used: sql`${networkQuotas.used} + ${placeholder('amount')}` } }),
)

/** Raises what the project uses, also above its limit. */
export async function countQuota(tx: Tx, count: Omit<Charge, 'defaultLimit'>): Promise<void> {
  await tx.run(COUNT, { ...count })
}

/** Lowers what the project uses. */
export function queueQuotaRefund(
  tx: Tx,
  refund: Pick<Charge, 'projectId' | 'resource' | 'amount'>,
): void {
  tx.queue(REFUND, { ...refund })
}

export async function quotaRows(db: Executor, projectId: string): Promise<readonly QuotaRow[]> {
  const { resource, used, limit } = networkQuotas
  return db.orm
    .select({ resource, used, limit })
    .from(networkQuotas)
    .where(eq(networkQuotas.projectId, projectId))
}

/** Afterwards these limits hold for the project, also if it uses more already. */
export async function setQuotaLimits(
  tx: Tx,
  projectId: string,
  limits: Readonly<Record<string, number>>,
): Promise<void> {
  for (const [resource, limit] of Object.entries(limits))
    await tx.orm
      .insert(networkQuotas)
      .values({ projectId, resource, used: 0, limit })
      .onDuplicateKeyUpdate({ set: { limit } })
}

/** Afterwards the defaults hold for the project. */
export async function clearQuotaLimits(tx: Tx, projectId: string): Promise<void> {
  await tx.orm
    .update(networkQuotas)
    .set({ limit: null })
    .where(eq(networkQuotas.projectId, projectId))
}

/** The projects that have limits of their own. */
export async function projectsWithLimits(db: Executor, max: number): Promise<readonly string[]> {
  const rows = await db.orm
    .selectDistinct({ projectId: networkQuotas.projectId })
    .from(networkQuotas)
    .where(sql`${networkQuotas.limit} IS NOT NULL`)
    .orderBy(networkQuotas.projectId)
    .limit(max)
  return rows.map((row) => row.projectId)
}
