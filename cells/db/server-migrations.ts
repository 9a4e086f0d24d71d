import { and, asc, desc, eq, inArray, lt, sql } from 'drizzle-orm'
import type { Executor, Transactional } from '#common/db/database.ts'
import { Lookup } from '#common/db/lookup.ts'
import { builder, statement } from '#common/db/statement.ts'
import type { MigrationView } from '#openapi/wire/migration.ts'
import { serverMigrations } from './schema/server-migrations.ts'

const p = sql.placeholder

const FIELDS = [
  'id',
  'serverId',
  'version',
  'type',
  'status',
  'sourceHost',
  'sourceNode',
  'destHost',
  'destNode',
  'oldFlavorId',
  'newFlavorId',
  'userId',
  'projectId',
] as const

const INSERT = statement(
  builder.insert(serverMigrations).values({
    id: p('id'),
    serverId: p('serverId'),
    version: p('version'),
    type: p('type'),
    status: p('status'),
    sourceHost: p('sourceHost'),
    sourceNode: p('sourceNode'),
    destHost: p('destHost'),
    destNode: p('destNode'),
    oldFlavorId: p('oldFlavorId'),
    newFlavorId: p('newFlavorId'),
    userId: p('userId'),
    projectId: p('projectId'),
    held: sql`${p('held')}`,
    createdAt: p('createdAt'),
    updatedAt: p('updatedAt'),
  }),
)

const UPDATE = statement(
  builder
    .update(serverMigrations)
    .set({
      version: sql`${p('version')}`,
      status: sql`${p('status')}`,
      destHost: sql`${p('destHost')}`,
      destNode: sql`${p('destNode')}`,
      held: sql`${p('held')}`,
      updatedAt: sql`${p('updatedAt')}`,
    })
    .where(
      and(eq(serverMigrations.id, p('id')), sql`${serverMigrations.version} = ${p('version')} - 1`),
    ),
)

/** Most servers have never moved, and changes of their volumes ask for each. */
const MOVED = new Lookup<{ readonly server_id: string }>(
  (ids) =>
    builder
      .selectDistinct({ server_id: serverMigrations.serverId })
      .from(serverMigrations)
      .where(inArray(serverMigrations.serverId, [...ids])),
  ({ server_id }) => server_id,
)

/** Throws a duplicate-key error for one that is there already. */
export async function insertMigration(tx: Executor, migration: MigrationView): Promise<void> {
  await tx.run(INSERT, values(migration))
}

/** Writes status, destination and what is held if nothing has changed it since the version before; false when something has. */
export async function updateMigration(tx: Executor, migration: MigrationView): Promise<boolean> {
  const { affectedRows } = await tx.run(UPDATE, values(migration))
  return affectedRows === 1
}

/** The newest migration of a server; undefined when it never had one. */
export async function newestMigration(
  db: Executor,
  serverId: string,
): Promise<MigrationView | undefined> {
  if ((await MOVED.one(db, serverId)) === undefined) return undefined
  const [row] = await db.orm
    .select()
    .from(serverMigrations)
    .where(eq(serverMigrations.serverId, serverId))
    .orderBy(desc(serverMigrations.createdAt), desc(serverMigrations.id))
    .limit(1)
  return row === undefined ? undefined : fromRow(row)
}

/** All migrations of some servers. */
export async function migrationsOf(
  db: Executor,
  serverIds: readonly string[],
): Promise<readonly MigrationView[]> {
  if (serverIds.length === 0) return []
  const rows = await db.orm
    .select()
    .from(serverMigrations)
    .where(inArray(serverMigrations.serverId, [...serverIds]))
    .orderBy(asc(serverMigrations.createdAt))
  return rows.map(fromRow)
}

/** By server, the name of the host that it is moving to while it runs. */
export async function liveDestinations(db: Executor): Promise<ReadonlyMap<string, string>> {
  const { serverId, type, status, destHost } = serverMigrations
  const rows = await db.orm
    .select({ serverId, destHost })
    .from(serverMigrations)
    .where(and(eq(status, 'running'), eq(type, 'live-migration')))
  return new Map(
    rows.flatMap((row) => (row.destHost === null ? [] : [[row.serverId, row.destHost]])),
  )
}

/** Forgets at most `max` migrations that last changed before a time. Returns how many. */
export async function purgeMigrations(
  db: Transactional,
  before: Date,
  max: number,
): Promise<number> {
  const [result] = await db.orm
    .delete(serverMigrations)
    .where(lt(serverMigrations.updatedAt, before))
    .limit(max)
  return result.affectedRows
}

function values(migration: MigrationView): Record<string, unknown> {
  const { createdAt, updatedAt, held } = migration
  const plain = Object.fromEntries(FIELDS.map((field) => [field, migration[field]]))
  return {
    ...plain,
    held: held === undefined ? null : JSON.stringify(held),
    createdAt: new Date(createdAt),
    updatedAt: new Date(updatedAt),
  }
}

function fromRow({ held, ...row }: typeof serverMigrations.$inferSelect): MigrationView {
  return {
    ...row,
    ...(held !== null && { held: held as NonNullable<MigrationView['held']> }),
    type: row.type as MigrationView['type'],
    status: row.status as MigrationView['status'],
    createdAt: row.createdAt.getTime(),
    updatedAt: row.updatedAt.getTime(),
  }
}
