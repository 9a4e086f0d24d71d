import { asc, count, eq } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { isDuplicate } from '#common/db/failures.ts'
import { Failure } from '#common/errors.ts'
import type { Namespace, NamespaceHead } from '../app/images/metadefs/namespace.ts'
import { metadefNamespaces as table } from './schema/image.ts'

const {
  properties: _,
  objects: __,
  tags: ___,
  ...HEAD
} = {
  name: table.name,
  displayName: table.displayName,
  description: table.description,
  visibility: table.visibility,
  isProtected: table.isProtected,
  owner: table.owner,
  resourceTypes: table.resourceTypes,
  properties: table.properties,
  objects: table.objects,
  tags: table.tags,
  createdAt: table.createdAt,
  updatedAt: table.updatedAt,
}

/** All of them, without what lists do not show; there are at most as many as `countNamespaces` is held to. */
export async function namespaceHeads(db: Executor): Promise<readonly NamespaceHead[]> {
  const rows = await db.orm.select(HEAD).from(table).orderBy(asc(table.name))
  return rows as readonly NamespaceHead[]
}

export async function countNamespaces(tx: Tx): Promise<number> {
  const [row] = await tx.orm.select({ n: count() }).from(table)
  return row?.n ?? 0
}

export async function findNamespace(db: Executor, name: string): Promise<Namespace | undefined> {
  const [row] = await db.orm.select().from(table).where(eq(table.name, name))
  return row as Namespace | undefined
}

/** The namespace, locked until the transaction ends. */
export async function lockNamespace(tx: Tx, name: string): Promise<Namespace | undefined> {
  const [row] = await tx.orm.select().from(table).where(eq(table.name, name)).for('update')
  return row as Namespace | undefined
}

/** Throws `conflict` for a name that is taken. */
export async function insertNamespace(tx: Tx, namespace: Namespace): Promise<void> {
  await orTaken(namespace.name, tx.orm.insert(table).values(namespace))
}

/** Afterwards the one of this name is as given; throws `conflict` for a new name that is taken. */
export async function updateNamespace(tx: Tx, name: string, after: Namespace): Promise<void> {
  await orTaken(after.name, tx.orm.update(table).set(after).where(eq(table.name, name)))
}

export async function deleteNamespace(tx: Tx, name: string): Promise<void> {
  await tx.orm.delete(table).where(eq(table.name, name))
}

async function orTaken(name: string, write: PromiseLike<unknown>): Promise<void> {
  try {
    await write
  } catch (error) {
    if (!isDuplicate(error)) throw error
    throw new Failure('conflict', `There is already a namespace ${name}.`, { cause: error })
  }
}
