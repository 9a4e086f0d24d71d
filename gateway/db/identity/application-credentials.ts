import { and, asc, count, eq, gt, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { isDuplicate } from '#common/db/failures.ts'
import { builder, statement } from '#common/db/statement.ts'
import { Failure } from '#common/errors.ts'
import type { ApplicationCredential } from '../../app/identity/model.ts'
import { applicationCredentials as table } from '../schema/identity.ts'

const FIND = statement(
  builder
    .select()
    .from(table)
    .where(eq(table.id, sql.placeholder('id'))),
)

interface Row {
  readonly id: string
  readonly user_id: string
  readonly project_id: string
  readonly name: string
  readonly description: string | null
  readonly secret_hash: string
  readonly unrestricted: number
  readonly role_ids: unknown
  readonly access_rule_ids: unknown
  readonly expires_at: Date | null
  readonly created_at: Date
}

export async function findApplicationCredential(
  db: Executor,
  id: string,
): Promise<ApplicationCredential | undefined> {
  const [row] = await db.rows<Row>(FIND, { id })
  if (row === undefined) return undefined
  return {
    id: row.id,
    userId: row.user_id,
    projectId: row.project_id,
    name: row.name,
    description: row.description,
    secretHash: row.secret_hash,
    unrestricted: row.unrestricted === 1,
    roleIds: row.role_ids as readonly string[],
    accessRuleIds: row.access_rule_ids as readonly string[] | null,
    expiresAt: row.expires_at,
    createdAt: row.created_at,
  }
}

export interface CredentialFilter {
  readonly name?: string | undefined
  readonly marker?: string | undefined
}

/** The user's credentials that fit, in the order of their ids. */
export async function listApplicationCredentials(
  db: Executor,
  userId: string,
  { name, marker }: CredentialFilter,
  limit: number,
): Promise<readonly ApplicationCredential[]> {
  const rows = await db.orm
    .select()
    .from(table)
    .where(
      and(
        eq(table.userId, userId),
        name === undefined ? undefined : eq(table.name, name),
        marker === undefined ? undefined : gt(table.id, marker),
      ),
    )
    .orderBy(asc(table.id))
    .limit(limit)
  return rows.map((row) => ({
    ...row,
    roleIds: row.roleIds as readonly string[],
    accessRuleIds: row.accessRuleIds as readonly string[] | null,
  }))
}

/** How many the user has in the project. */
export async function countApplicationCredentials(
  tx: Tx,
  userId: string,
  projectId: string,
): Promise<number> {
  const [row] = await tx.orm
    .select({ n: count() })
    .from(table)
    .where(and(eq(table.userId, userId), eq(table.projectId, projectId)))
  return row?.n ?? 0
}

/** True when a credential of the user has the access rule. */
export async function isRuleUsed(tx: Tx, userId: string, ruleId: string): Promise<boolean> {
  const rows = await tx.orm
    .select({ id: table.id })
    .from(table)
    .where(
      and(
        eq(table.userId, userId),
        sql`JSON_CONTAINS(${table.accessRuleIds}, JSON_QUOTE(${ruleId}))`,
      ),
    )
    .limit(1)
  return rows.length > 0
}

/** Throws `conflict` when the user has a credential of this name. */
export async function insertApplicationCredential(
  tx: Tx,
  credential: ApplicationCredential,
): Promise<void> {
  try {
    await tx.orm.insert(table).values(credential)
  } catch (error) {
    if (!isDuplicate(error, 'application_credentials_name')) throw error
    const message = `There is already an application credential named ${credential.name}.`
    throw new Failure('conflict', message, { cause: error })
  }
}

/** Afterwards there is no such credential. */
export async function deleteApplicationCredential(tx: Tx, id: string): Promise<void> {
  await tx.orm.delete(table).where(eq(table.id, id))
}
