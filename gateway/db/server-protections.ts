import { and, asc, eq, gt, isNull, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { sqlStatement } from '#common/db/statement.ts'
import { cellMappings } from './schema/cells.ts'
import { serverProtections, serverReplicas } from './schema/protections.ts'
import { serverIndex } from './schema/servers.ts'

/** The schedule by which backups of a server are made, and how the last try went. */
export interface ServerProtection {
  readonly serverId: string
  readonly projectId: string
  readonly userId: string
  readonly everyS: number
  /** How many backups are kept. */
  readonly keep: number
  readonly nextAt: Date
  /** When the last backup began, and its image; null: none has. */
  readonly lastAt: Date | null
  readonly lastImageId: string | null
  /** Why the last try made none; null: it did. */
  readonly lastError: string | null
  /** The cell that is to keep the newest backup too; null: none. */
  readonly toCellId: string | null
}

/** With the name of its server, and what its other cell keeps. */
export interface ListedProtection extends ServerProtection {
  readonly name: string
  /** Null: no cell is to keep a backup. */
  readonly replica: ListedReplica | null
}

export interface ListedReplica {
  readonly cellId: string
  /** Null: the cell has left. */
  readonly cell: string | null
  /** The image that the cell keeps, and when it was made; null: none. */
  readonly imageId: string | null
  readonly imageAt: Date | null
  /** Why that is not the newest; null: it is. */
  readonly error: string | null
}

const now = sql`now(3)`
const PURGE = sqlStatement(sql`
  delete from server_protections
    where not exists (select 1 from instance_mappings m where m.server_id = server_protections.server_id)
    limit ${sql.placeholder('max')}`)

/** Afterwards the server has this schedule, and the first backup of a new one is due. */
export async function putProtection(
  tx: Tx,
  protection: Pick<
    ServerProtection,
    'serverId' | 'projectId' | 'userId' | 'everyS' | 'keep' | 'toCellId'
  >,
): Promise<void> {
  const { everyS, keep, userId, toCellId } = protection
  const { nextAt } = serverProtections
  await tx.orm
    .insert(serverProtections)
    .values({ ...protection, nextAt: now, createdAt: now })
    .onDuplicateKeyUpdate({
      set: {
        userId,
        keep,
        everyS,
        toCellId,
        nextAt: sql`least(${nextAt}, now(3) + interval ${everyS} second)`,
      },
    })
}

/** False when there was none. */
export async function removeProtection(db: Executor, serverId: string): Promise<boolean> {
  const [result] = await db.orm
    .delete(serverProtections)
    .where(eq(serverProtections.serverId, serverId))
  return result.affectedRows === 1
}

export async function findProtection(
  db: Executor,
  serverId: string,
): Promise<ListedProtection | undefined> {
  const rows = await protections(db).where(eq(serverProtections.serverId, serverId))
  return rows.map(listed)[0]
}

/** Of one project, or of all where it is null, by the ids of servers that come after `cursor`. */
export async function listProtections(
  db: Executor,
  projectId: string | null,
  cursor: string,
  max: number,
): Promise<readonly ListedProtection[]> {
  const ofProject = projectId === null ? undefined : eq(serverProtections.projectId, projectId)
  const rows = await protections(db)
    .where(and(gt(serverProtections.serverId, cursor), ofProject))
    .orderBy(asc(serverProtections.serverId))
    .limit(max)
  return rows.map(listed)
}

/** Removes at most `max` schedules of servers that are gone. */
export async function purgeProtections(db: Executor, max: number): Promise<number> {
  return (await db.run(PURGE, { max })).affectedRows
}

function protections(db: Executor) {
  return db.orm
    .select({
      row: serverProtections,
      name: serverIndex.name,
      cell: cellMappings.name,
      replica: serverReplicas,
    })
    .from(serverProtections)
    .innerJoin(
      serverIndex,
      and(eq(serverIndex.serverId, serverProtections.serverId), isNull(serverIndex.deletedAt)),
    )
    .leftJoin(cellMappings, eq(cellMappings.id, serverProtections.toCellId))
    .leftJoin(
      serverReplicas,
      and(
        eq(serverReplicas.serverId, serverProtections.serverId),
        eq(serverReplicas.cellId, serverProtections.toCellId),
      ),
    )
    .$dynamic()
}

function listed({
  row,
  name,
  cell,
  replica,
}: {
  readonly row: typeof serverProtections.$inferSelect
  readonly name: string
  readonly cell: string | null
  readonly replica: typeof serverReplicas.$inferSelect | null
}): ListedProtection {
  const { toCellId } = row
  if (toCellId === null) return { ...row, name, replica: null }
  const { imageId = null, imageAt = null, lastError: error = null } = replica ?? {}
  return { ...row, name, replica: { cellId: toCellId, cell, imageId, imageAt, error } }
}
