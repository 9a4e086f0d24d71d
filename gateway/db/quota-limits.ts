import { eq, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { builder, statement } from '#common/db/statement.ts'
import { DEFAULT_CLASS } from './quota-usages.ts'
import { quotaClasses, quotaLimits } from './schema/resources.ts'

/** Limits by resource; what nothing was set for is absent. */
export type SetLimits = ReadonlyMap<string, number>

interface LimitRow {
  readonly resource: string
  readonly hard_limit: number
}

const ofProject = statement(
  builder
    .select({ resource: quotaLimits.resource, hard_limit: quotaLimits.hardLimit })
    .from(quotaLimits)
    .where(eq(quotaLimits.projectId, sql.placeholder('projectId'))),
)

const ofClass = statement(
  builder
    .select({ resource: quotaClasses.resource, hard_limit: quotaClasses.hardLimit })
    .from(quotaClasses)
    .where(eq(quotaClasses.className, sql.placeholder('className'))),
)

/** The limits set for the project itself. */
export async function projectLimits(db: Executor, projectId: string): Promise<SetLimits> {
  return byResource(await db.rows<LimitRow>(ofProject, { projectId }))
}

/** The limits set for the class. */
export async function classLimits(db: Executor, className = DEFAULT_CLASS): Promise<SetLimits> {
  return byResource(await db.rows<LimitRow>(ofClass, { className }))
}

function byResource(rows: readonly LimitRow[]): SetLimits {
  return new Map(rows.map((row) => [row.resource, row.hard_limit]))
}

/** Afterwards the project has these limits; those not named stay. */
export async function setProjectLimits(
  tx: Tx,
  projectId: string,
  limits: SetLimits,
): Promise<void> {
  const rows = [...limits].map(([resource, hardLimit]) => ({ projectId, resource, hardLimit }))
  if (rows.length === 0) return
  await tx.orm
    .insert(quotaLimits)
    .values(rows)
    .onDuplicateKeyUpdate({ set: { hardLimit: sql`values(${quotaLimits.hardLimit})` } })
}

/** Afterwards nothing is set for the project itself. */
export async function deleteProjectLimits(db: Executor, projectId: string): Promise<void> {
  await db.orm.delete(quotaLimits).where(eq(quotaLimits.projectId, projectId))
}

/** Afterwards the class has these limits; those not named stay. */
export async function setClassLimits(
  db: Executor,
  className: string,
  limits: SetLimits,
): Promise<void> {
  const rows = [...limits].map(([resource, hardLimit]) => ({ className, resource, hardLimit }))
  if (rows.length === 0) return
  await db.orm
    .insert(quotaClasses)
    .values(rows)
    .onDuplicateKeyUpdate({ set: { hardLimit: sql`values(${quotaClasses.hardLimit})` } })
}
