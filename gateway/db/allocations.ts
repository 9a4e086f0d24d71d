import { and, eq, inArray, isNotNull, isNull, or, type SQL } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import type { FlavorSnapshot } from '#openapi/wire/instance.ts'
import type { MigrationView } from '#openapi/wire/migration.ts'
import type { HeldAmounts, NumaAllocation } from '#openapi/wire/numa.ts'
import { serverIndex, serverMigrations } from './schema/servers.ts'

/** A server that takes something of a host, or a migration of one, which holds what the server had before. */
export interface Consumer {
  readonly id: string
  /** As Placement names them. */
  readonly type: 'INSTANCE' | 'MIGRATION'
  readonly hostId: string
  readonly projectId: string
  readonly userId: string
  /** Of the server. */
  readonly flavor: FlavorSnapshot
  /** What it holds, by resource class; null: its cell has not said. */
  readonly held: HeldAmounts | null
  /** What of it is of NUMA nodes of the host; null: nothing that its cell has chosen. */
  readonly numa: NumaAllocation | null
  /** Grows with every change its cell reports. */
  readonly version: number
}

/** The consumers of a host; its name is what servers are indexed by, and is unique within a cell only. */
export async function consumersOfHost(
  db: Executor,
  { name, hostId }: { readonly name: string; readonly hostId: string },
): Promise<readonly Consumer[]> {
  const { sourceHost, destHost } = serverMigrations
  const moving = await serversOfMigrations(db, or(eq(sourceHost, name), eq(destHost, name)))
  const isThere = eq(serverIndex.host, name)
  const isIts = moving.length === 0 ? isThere : or(isThere, inArray(serverIndex.serverId, moving))
  return (await select(db, isIts)).filter((consumer) => consumer.hostId === hostId)
}

/** The consumer with its host; undefined if it has none. */
export async function findConsumer(db: Executor, id: string): Promise<Consumer | undefined> {
  const [serverId = id] = await serversOfMigrations(db, eq(serverMigrations.uuid, id))
  const found = await select(db, eq(serverIndex.serverId, serverId))
  return found.find((consumer) => consumer.id === id)
}

/** Those of a project, or of one user in it, that hold something of some host. */
export function consumersOfProject(
  db: Executor,
  projectId: string,
  userId: string | undefined,
): Promise<readonly Consumer[]> {
  const ofUser = userId === undefined ? undefined : eq(serverIndex.userId, userId)
  return select(db, and(eq(serverIndex.projectId, projectId), ofUser))
}

const HOLDS = isNotNull(serverMigrations.held)

/** Of those of these migrations that hold something. */
async function serversOfMigrations(db: Executor, where: SQL | undefined): Promise<string[]> {
  const { serverId } = serverMigrations
  const rows = await db.orm.select({ serverId }).from(serverMigrations).where(and(HOLDS, where))
  return rows.map((row) => row.serverId)
}

/** Of these servers, with their migrations, in the order of their ids. */
async function select(db: Executor, where: SQL | undefined): Promise<readonly Consumer[]> {
  const rows = await db.orm
    .select({
      serverId: serverIndex.serverId,
      hostId: serverIndex.hostId,
      projectId: serverIndex.projectId,
      userId: serverIndex.userId,
      flavor: serverIndex.flavor,
      held: serverIndex.held,
      numa: serverIndex.numa,
      version: serverIndex.version,
      migrationId: serverMigrations.uuid,
      migrationVersion: serverMigrations.version,
      migrationHeld: serverMigrations.held,
    })
    .from(serverIndex)
    .leftJoin(
      serverMigrations,
      and(
        eq(serverMigrations.serverId, serverIndex.serverId),
        eq(serverMigrations.cellId, serverIndex.cellId),
        HOLDS,
      ),
    )
    .where(and(where, isNull(serverIndex.deletedAt), isNotNull(serverIndex.hostId)))
  const found = new Map(rows.flatMap(consumersIn).map((consumer) => [consumer.id, consumer]))
  return [...found.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1))
}

interface Row extends Omit<Consumer, 'id' | 'type' | 'hostId' | 'flavor' | 'held' | 'numa'> {
  readonly serverId: string
  readonly hostId: string | null
  readonly flavor: unknown
  readonly held: unknown
  readonly numa: unknown
  readonly migrationId: string | null
  readonly migrationVersion: number | null
  readonly migrationHeld: unknown
}

function consumersIn(row: Row): readonly Consumer[] {
  const { projectId, userId } = row
  const common = { projectId, userId, flavor: row.flavor as FlavorSnapshot }
  const moving = row.migrationHeld as NonNullable<MigrationView['held']> | null
  const there = {
    hostId: row.hostId!,
    resources: row.held as HeldAmounts | null,
    numa: row.numa as NumaAllocation | null,
  }
  // A server that is still on the host that it leaves holds something of the other one alone.
  const goesTo = moving?.dest !== undefined && moving.source.hostId === row.hostId
  const { hostId, resources, numa = null } = goesTo ? moving!.dest! : there
  const id = row.serverId
  const { version } = row
  const server = {
    ...common,
    id,
    type: 'INSTANCE' as const,
    hostId,
    held: resources,
    numa,
    version,
  }
  if (moving === null) return [server]
  const { source } = moving
  const migration = {
    ...common,
    id: row.migrationId!,
    type: 'MIGRATION' as const,
    hostId: source.hostId,
    held: source.resources,
    numa: source.numa ?? null,
    version: row.migrationVersion!,
  }
  return [server, migration]
}
