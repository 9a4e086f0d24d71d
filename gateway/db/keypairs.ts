import { and, asc, eq, gt, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { isDuplicate } from '#common/db/failures.ts'
import { builder, statement } from '#common/db/statement.ts'
import { Failure } from '#common/errors.ts'
import { keypairs } from './schema/resources.ts'

export type KeypairType = 'ssh' | 'x509'

export interface Keypair {
  readonly userId: string
  readonly name: string
  readonly type: KeypairType
  readonly publicKey: string
  readonly fingerprint: string
  readonly createdAt: Date
}

/** A keypair as stored, with the small number that clients see as `id`. */
export interface StoredKeypair extends Keypair {
  readonly serial: number
}

interface KeypairRow {
  readonly user_id: string
  readonly name: string
  readonly type: KeypairType
  readonly public_key: string
  readonly fingerprint: string
  readonly serial: number
  readonly created_at: Date
}

const selectOne = statement(
  builder
    .select()
    .from(keypairs)
    .where(
      and(
        eq(keypairs.userId, sql.placeholder('userId')),
        eq(keypairs.name, sql.placeholder('name')),
      ),
    ),
)

const selectPage = statement(
  builder
    .select()
    .from(keypairs)
    .where(
      and(
        eq(keypairs.userId, sql.placeholder('userId')),
        gt(keypairs.name, sql.placeholder('after')),
      ),
    )
    .orderBy(asc(keypairs.name))
    .limit(sql.placeholder('limit')),
)

export async function findKeypair(
  db: Executor,
  userId: string,
  name: string,
): Promise<StoredKeypair | undefined> {
  const rows = await db.rows<KeypairRow>(selectOne, { userId, name })
  return rows[0] === undefined ? undefined : keypairOf(rows[0])
}

/** The user's keypairs by name, from after the name given ('' for the first page). */
export async function listKeypairs(
  db: Executor,
  userId: string,
  after: string,
  limit: number,
): Promise<readonly StoredKeypair[]> {
  // mysql2 sends numbers as doubles, which LIMIT does not take.
  const rows = await db.rows<KeypairRow>(selectPage, { userId, after, limit: BigInt(limit) })
  return rows.map(keypairOf)
}

/** Throws `conflict` when the user has a keypair of that name. */
export async function insertKeypair(tx: Tx, keypair: Keypair): Promise<void> {
  try {
    await tx.orm.insert(keypairs).values(keypair)
  } catch (error) {
    if (isDuplicate(error))
      throw new Failure('conflict', `Key pair '${keypair.name}' already exists.`)
    throw error
  }
}

/** False when there was none. */
export async function deleteKeypair(tx: Tx, userId: string, name: string): Promise<boolean> {
  const [result] = await tx.orm
    .delete(keypairs)
    .where(and(eq(keypairs.userId, userId), eq(keypairs.name, name)))
  return result.affectedRows === 1
}

function keypairOf(row: KeypairRow): StoredKeypair {
  return {
    userId: row.user_id,
    name: row.name,
    type: row.type,
    publicKey: row.public_key,
    fingerprint: row.fingerprint,
    serial: row.serial,
    createdAt: row.created_at,
  }
}
