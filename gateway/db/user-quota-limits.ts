import { and, eq, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { builder, statement } from '#common/db/statement.ts'
import type { SetLimits } from './quota-limits.ts'
import { userQuotaLimits } from './schema/resources.ts'

/** A user as a project's quota sees one. */
export interface ProjectUser {
  readonly projectId: string
  readonly userId: string
}

const isProject = eq(userQuotaLimits.projectId, sql.placeholder('projectId'))

const OF_USER = statement(
  builder
    .select({ resource: userQuotaLimits.resource, hard_limit: userQuotaLimits.hardLimit })
    .from(userQuotaLimits)
    .where(and(isProject, eq(userQuotaLimits.userId, sql.placeholder('userId')))),
)

const GIVEN_AWAY = statement(
  builder
    .select({
      resource: userQuotaLimits.resource,
      hard_limit: sql<number>`sum(${userQuotaLimits.hardLimit})`.as('hard_limit'),
    })
    .from(userQuotaLimits)
    .where(isProject)
    .groupBy(userQuotaLimits.resource),
)

interface LimitRow {
  readonly resource: string
  readonly hard_limit: number | string
}

/** The limits set for the user in the project; others are absent. */
export async function userLimits(db: Executor, user: ProjectUser): Promise<SetLimits> {
  return byResource(await db.rows<LimitRow>(OF_USER, { ...user }))
}

/** The sums of what was set for the project's users, an unlimited one counting as -1. */
export async function limitsOfUsers(db: Executor, projectId: string): Promise<SetLimits> {
  return byResource(await db.rows<LimitRow>(GIVEN_AWAY, { projectId }))
}

function byResource(rows: readonly LimitRow[]): SetLimits {
  return new Map(rows.map((row) => [row.resource, Number(row.hard_limit)]))
}

/** Afterwards the user has these limits in the project; those not named stay. */
export async function setUserLimits(tx: Tx, user: ProjectUser, limits: SetLimits): Promise<void> {
  const rows = [...limits].map(([resource, hardLimit]) => ({ ...user, resource, hardLimit }))
  if (rows.length === 0) return
  await tx.orm
    .insert(userQuotaLimits)
    .values(rows)
    .onDuplicateKeyUpdate({ set: { hardLimit: sql`values(${userQuotaLimits.hardLimit})` } })
}

/** Afterwards nothing is set for users of the project; of one user where it is named. */
export async function deleteUserLimits(
  db: Executor,
  projectId: string,
  userId?: string,
): Promise<void> {
  const isUser = userId === undefined ? undefined : eq(userQuotaLimits.userId, userId)
  await db.orm.delete(userQuotaLimits).where(and(eq(userQuotaLimits.projectId, projectId), isUser))
}
