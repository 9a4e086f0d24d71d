import { and, eq, inArray, isNotNull, isNull, type SQL, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { isDuplicate } from '#common/db/failures.ts'
import { lockRows } from '#common/db/lock-rows.ts'
import { Lookup } from '#common/db/lookup.ts'
import { builder, statement } from '#common/db/statement.ts'
import { Failure } from '#common/errors.ts'
import { volumeTypeAccess, volumeTypes } from './schema/block-storage.ts'

/** How volumes of a type are encrypted, by Cinder's names. Times as in ISO 8601. */
export interface TypeEncryption {
  readonly id: string
  readonly provider: string
  /** Null: the usual one. */
  readonly cipher: string | null
  /** In bits; null: as usual. */
  readonly keySize: number | null
  readonly controlLocation: string
  readonly createdAt: string
  readonly updatedAt: string | null
}

/** A kind of volumes. */
export interface VolumeType {
  readonly id: string
  readonly name: string
  readonly description: string | null
  readonly isPublic: boolean
  readonly extraSpecs: Readonly<Record<string, string>>
  /** How its volumes are encrypted; null: they are not. */
  readonly encryption: TypeEncryption | null
  readonly createdAt: Date
  readonly updatedAt: Date | null
}

/** The viewer of types: one who sees all, or one who sees public ones and those shared with this project. */
export type TypeVisibility = { readonly all: true } | { readonly projectId: string | null }

/** What to select so that `typeOf` can read the row, from a prepared statement or a built one. */
export const TYPE_COLUMNS = {
  id: volumeTypes.id,
  name: volumeTypes.name,
  description: volumeTypes.description,
  is_public: volumeTypes.isPublic,
  extra_specs: volumeTypes.extraSpecs,
  encryption: volumeTypes.encryption,
  created_at: volumeTypes.createdAt,
  updated_at: volumeTypes.updatedAt,
} as const

/** Booleans are 0 and 1 where a prepared statement read them. */
interface TypeRow {
  readonly id: string
  readonly name: string
  readonly description: string | null
  readonly is_public: number | boolean
  readonly extra_specs: Readonly<Record<string, string>>
  readonly encryption: TypeEncryption | null
  readonly created_at: Date
  readonly updated_at: Date | null
}

export function typeOf(row: TypeRow): VolumeType {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    isPublic: Boolean(row.is_public),
    extraSpecs: row.extra_specs,
    encryption: row.encryption,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

/** Keeps the type from being deleted until the transaction ends; false when there is none. */
export async function lockType(tx: Tx, id: string): Promise<boolean> {
  return (await lockRows(tx, volumeTypes, eq(volumeTypes.id, id))) === 1
}

/** The same, of a type whose volumes are encrypted, or of one whose volumes are not. */
export async function lockTypeAs(tx: Tx, id: string, isEncrypted: boolean): Promise<boolean> {
  const { encryption } = volumeTypes
  const kind = isEncrypted ? isNotNull(encryption) : isNull(encryption)
  return (await lockRows(tx, volumeTypes, and(eq(volumeTypes.id, id), kind))) === 1
}

const BY_ID = new Lookup<TypeRow>(
  (ids) =>
    builder
      .select(TYPE_COLUMNS)
      .from(volumeTypes)
      .where(inArray(volumeTypes.id, [...ids])),
  ({ id }) => id,
)

const BY_NAME = new Lookup<TypeRow>(
  (names) =>
    builder
      .select(TYPE_COLUMNS)
      .from(volumeTypes)
      .where(inArray(volumeTypes.name, [...names])),
  ({ name }) => name,
)

const ACCESS = statement(
  builder
    .select({ one: sql`1` })
    .from(volumeTypeAccess)
    .where(
      and(
        eq(volumeTypeAccess.typeId, sql.placeholder('id')),
        eq(volumeTypeAccess.projectId, sql.placeholder('projectId')),
      ),
    ),
)

/** The type, or undefined when there is none or it may not be seen. */
export async function findType(
  db: Executor,
  id: string,
  visibility: TypeVisibility,
): Promise<VolumeType | undefined> {
  return seen(db, await BY_ID.one(db, id), visibility)
}

/** The same by name. */
export async function findTypeNamed(
  db: Executor,
  name: string,
  visibility: TypeVisibility,
): Promise<VolumeType | undefined> {
  return seen(db, await BY_NAME.one(db, name), visibility)
}

async function seen(
  db: Executor,
  row: TypeRow | undefined,
  visibility: TypeVisibility,
): Promise<VolumeType | undefined> {
  if (row === undefined) return undefined
  const type = typeOf(row)
  if (type.isPublic || 'all' in visibility) return type
  const { projectId } = visibility
  const isShared =
    projectId !== null && (await db.rows(ACCESS, { id: type.id, projectId })).length > 0
  return isShared ? type : undefined
}

/** Afterwards the type exists. Throws `conflict` when its name is taken. */
export async function insertType(db: Executor, type: VolumeType): Promise<void> {
  await unlessTaken(type.name, db.orm.insert(volumeTypes).values(type))
}

export interface TypeChange {
  readonly name?: string | undefined
  readonly description?: string | undefined
  readonly isPublic?: boolean | undefined
}

/** False when the type does not exist. Throws `conflict` when the name is taken. */
export async function updateTypeRow(
  db: Executor,
  id: string,
  change: TypeChange,
): Promise<boolean> {
  const [result] = await unlessTaken(
    change.name ?? '',
    db.orm
      .update(volumeTypes)
      .set({ ...change, updatedAt: sql`now(3)` })
      .where(eq(volumeTypes.id, id)),
  )
  return result.affectedRows === 1
}

async function unlessTaken<T>(name: string, writing: PromiseLike<T>): Promise<T> {
  try {
    return await writing
  } catch (error) {
    if (isDuplicate(error, 'volume_types_name'))
      throw new Failure('conflict', `Volume Type ${name} already exists.`)
    throw error
  }
}

/** Adds, replaces and (null) removes extra specs in one statement, so that concurrent changes all stay. */
export async function mergeTypeSpecs(
  db: Executor,
  id: string,
  specs: Readonly<Record<string, string | null>>,
): Promise<boolean> {
  const merged = sql`json_merge_patch(${volumeTypes.extraSpecs}, ${JSON.stringify(specs)})`
  const [result] = await db.orm
    .update(volumeTypes)
    .set({ extraSpecs: merged as SQL<Readonly<Record<string, string>>>, updatedAt: sql`now(3)` })
    .where(eq(volumeTypes.id, id))
  return result.affectedRows === 1
}

/** Afterwards new volumes of a type that the transaction has locked are encrypted so; null: they are not. */
export async function updateTypeEncryption(
  tx: Tx,
  id: string,
  encryption: TypeEncryption | null,
): Promise<void> {
  await tx.orm.update(volumeTypes).set({ encryption }).where(eq(volumeTypes.id, id))
}

/** Afterwards neither the type nor any access to it exists. False when there was none. */
export async function deleteTypeRow(tx: Tx, id: string): Promise<boolean> {
  await tx.orm.delete(volumeTypeAccess).where(eq(volumeTypeAccess.typeId, id))
  const [result] = await tx.orm.delete(volumeTypes).where(eq(volumeTypes.id, id))
  return result.affectedRows === 1
}
