import { and, eq, gte, inArray, lte, or, sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { after, orderOf, type SortColumn } from './keyset.ts'
import { serverMigrations } from './schema/servers.ts'

export type RecordedMigration = typeof serverMigrations.$inferSelect

export interface MigrationPageQuery {
  readonly limit: number
  /** The migration the page starts after. */
  readonly marker?: RecordedMigration | undefined
  /** Where it is from or leads to. */
  readonly host?: string | undefined
  readonly serverId?: string | undefined
  readonly sourceHost?: string | undefined
  readonly statuses?: readonly string[] | undefined
  readonly type?: string | undefined
  readonly userId?: string | undefined
  readonly projectId?: string | undefined
  readonly since?: Date | undefined
  readonly before?: Date | undefined
}

const NEWEST_FIRST: readonly SortColumn[] = [
  { column: serverMigrations.createdAt, isDescending: true },
  { column: serverMigrations.id, isDescending: true },
]

/** One page of migrations, newest first. */
export async function listMigrations(
  db: Executor,
  query: MigrationPageQuery,
): Promise<readonly RecordedMigration[]> {
  const { host, serverId, sourceHost, statuses, type, userId, projectId, since, before } = query
  const is = <T>(value: T | undefined, column: Parameters<typeof eq>[0]) =>
    value === undefined ? undefined : eq(column, value)
  return db.orm
    .select()
    .from(serverMigrations)
    .where(
      and(
        or(is(host, serverMigrations.sourceHost), is(host, serverMigrations.destHost)),
        is(serverId, serverMigrations.serverId),
        is(sourceHost, serverMigrations.sourceHost),
        is(type, serverMigrations.type),
        is(userId, serverMigrations.userId),
        is(projectId, serverMigrations.projectId),
        statuses && inArray(serverMigrations.status, [...statuses]),
        since && gte(serverMigrations.updatedAt, since),
        before && lte(serverMigrations.updatedAt, before),
        query.marker && startAfter(query.marker),
      ),
    )
    .orderBy(...orderOf(NEWEST_FIRST))
    .limit(query.limit)
}

function startAfter({ createdAt, id }: RecordedMigration) {
  return after(NEWEST_FIRST, [sql`${sql.param(createdAt, serverMigrations.createdAt)}`, id])
}

export async function findMigrationByUuid(
  db: Executor,
  uuid: string,
): Promise<RecordedMigration | undefined> {
  const rows = await db.orm.select().from(serverMigrations).where(eq(serverMigrations.uuid, uuid))
  return rows[0]
}

/** The migration of a server by the number clients know it by. */
export async function findServerMigration(
  db: Executor,
  serverId: string,
  id: number,
): Promise<RecordedMigration | undefined> {
  const rows = await db.orm
    .select()
    .from(serverMigrations)
    .where(and(eq(serverMigrations.serverId, serverId), eq(serverMigrations.id, id)))
  return rows[0]
}
