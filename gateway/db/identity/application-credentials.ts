import { and, asc, eq, sql } from 'drizzle-orm'
import type { Database, Executor } from '#common/db/database.ts'
import { isDuplicate } from '#common/db/failures.ts'
import { builder, statement } from '#common/db/statement.ts'
import { Failure } from '#common/errors.ts'
import type { ApplicationCredential } from '../../app/identity/application-credential.ts'
import { applicationCredentials as table } from '../schema/identity.ts'
import { revokeCredentialTokens } from './tokens.ts'

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
    expiresAt: row.expires_at,
    createdAt: row.created_at,
  }
}

/** The user's credentials, all or the one of this name, in the order of their names. */
export async function listApplicationCredentials(
  db: Executor,
  userId: string,
  name: string | undefined,
  limit: number,
): Promise<readonly ApplicationCredential[]> {
  const isUsers = eq(table.userId, userId)
  const rows = await db.orm
    .select()
    .from(table)
    .where(name === undefined ? isUsers : and(isUsers, eq(table.name, name)))
    .orderBy(asc(table.name))
    .limit(limit)
  return rows.map((row) => ({ ...row, roleIds: row.roleIds as readonly string[] }))
}

/** Throws `conflict` when the user has a credential of this name. */
export async function insertApplicationCredential(
  db: Executor,
  credential: ApplicationCredential,
): Promise<void> {
  try {
    await db.orm.insert(table).values(credential)
  } catch (error) {
    if (!isDuplicate(error, 'application_credentials_name')) throw error
    const message = `There is already an application credential named ${credential.name}.`
    throw new Failure('conflict', message, { cause: error })
  }
}

/** Afterwards neither the credential nor a token got with it is valid; false when there was none. */
export async function deleteApplicationCredential(db: Database, id: string): Promise<boolean> {
  return db.transaction(async (tx) => {
    const [result] = await tx.orm.delete(table).where(eq(table.id, id))
    if (result.affectedRows === 0) return false
    await revokeCredentialTokens(tx, id)
    return true
  })
}
