import { and, asc, eq, inArray, isNotNull, isNull, lte, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { sqlStatement } from '#common/db/statement.ts'
import type { CellId } from '#common/ids.ts'
import { cellMappings } from './schema/cells.ts'
import { serverProtections, serverReplicas } from './schema/protections.ts'
import { serverIndex } from './schema/servers.ts'

/** A cell that keeps an image of a server, is to keep one, or is to let go of it. */
export interface ServerReplica {
  readonly serverId: string
  readonly cellId: CellId
  /** The image that the cell keeps; null: none. */
  readonly imageId: string | null
  readonly imageAt: Date | null
  /** How the last try went; null: well, or there was none. */
  readonly lastError: string | null
  readonly nextAt: Date
  /** Of a server that is protected at this cell, and there; undefined: the cell is to let go of it. */
  readonly server: ReplicatedServer | undefined
}

export interface ReplicatedServer {
  readonly id: string
  readonly projectId: string
  /** Where the server itself is; null: in no cell. */
  readonly cellId: string | null
}

/** How a try went. */
export interface ReplicaNote {
  /** The image that the cell keeps now; null: none. */
  readonly image: { readonly id: string; readonly at: Date } | null
  /** Why that is not the newest; null: it is. */
  readonly error: string | null
  readonly againS: number
}

const now = sql`now(3)`
const ERROR_MAX = 255
/** Seconds; longer than a gateway works on one. Then another may. */
export const TAKEN_S = 60

const REMOVE = sqlStatement(sql`
  delete from server_replicas
    where server_id = ${sql.placeholder('serverId')} and cell_id = ${sql.placeholder('cellId')}
      and image_id <=> ${sql.placeholder('imageId')} and last_error <=> ${sql.placeholder('lastError')}
      and not exists (select 1 from server_protections p
        join server_index s on s.server_id = p.server_id and s.deleted_at is null
        where p.server_id = server_replicas.server_id and p.to_cell_id = server_replicas.cell_id)`)

/** Afterwards the cell is asked soon to keep the newest image of the server, and other cells to let go of theirs. */
export async function putReplica(tx: Tx, serverId: string, cellId: string): Promise<void> {
  await tx.orm
    .insert(serverReplicas)
    .values({ serverId, cellId, nextAt: now })
    .onDuplicateKeyUpdate({ set: { nextAt: now } })
  await hastenReplicas(tx, serverId)
}

/** Afterwards what cells keep for the server is looked at soon. */
export async function hastenReplicas(db: Executor, serverId: string): Promise<void> {
  await db.orm
    .update(serverReplicas)
    .set({ nextAt: now })
    .where(eq(serverReplicas.serverId, serverId))
}

/** Those that are to be looked at, the longest due first. */
export async function dueReplicas(db: Executor, max: number): Promise<readonly ServerReplica[]> {
  const { serverId, cellId } = serverReplicas
  const rows = await db.orm
    .select({
      replica: serverReplicas,
      projectId: serverIndex.projectId,
      inCellId: serverIndex.cellId,
    })
    .from(serverReplicas)
    .leftJoin(
      serverProtections,
      and(eq(serverProtections.serverId, serverId), eq(serverProtections.toCellId, cellId)),
    )
    .leftJoin(
      serverIndex,
      and(eq(serverIndex.serverId, serverProtections.serverId), isNull(serverIndex.deletedAt)),
    )
    .where(lte(serverReplicas.nextAt, now))
    .orderBy(asc(serverReplicas.nextAt))
    .limit(max)
  return rows.map(({ replica, projectId, inCellId }) => ({
    ...replica,
    cellId: replica.cellId as CellId,
    server: projectId === null ? undefined : { id: replica.serverId, projectId, cellId: inCellId },
  }))
}

/** Makes one gateway the one that asks the cell: true for it alone. */
export async function takeReplica(
  db: Executor,
  { serverId, cellId, nextAt }: ServerReplica,
): Promise<boolean> {
  const [result] = await db.orm
    .update(serverReplicas)
    .set({ nextAt: sql`now(3) + interval ${TAKEN_S} second` })
    .where(and(isReplica(serverId, cellId), eq(serverReplicas.nextAt, nextAt)))
  return result.affectedRows === 1
}

/**
 * Afterwards it is known how the try went; the next is later, unless somebody wants one since this one was taken. What another
 * gateway has noted since this one took it stays, and the cell, which may have heard this one last, is asked again soon.
 */
export async function noteReplica(
  db: Executor,
  { serverId, cellId, ...seen }: ServerReplica,
  { image, error, againS }: ReplicaNote,
): Promise<void> {
  const { nextAt, imageId, lastError } = serverReplicas
  const isAsSeen = sql`${imageId} <=> ${seen.imageId} and ${lastError} <=> ${seen.lastError}`
  const [result] = await db.orm
    .update(serverReplicas)
    .set({
      imageId: image?.id ?? null,
      imageAt: image?.at ?? null,
      lastError: error === null ? null : error.slice(0, ERROR_MAX),
      nextAt: sql`if(${nextAt} > now(3), now(3) + interval ${againS} second, ${nextAt})`,
    })
    .where(and(isReplica(serverId, cellId), isAsSeen))
  if (result.affectedRows !== 1) await hastenReplicas(db, serverId)
}

/** Afterwards the cell is known to keep nothing for the server, unless the server has been protected at it again. */
export async function removeReplica(
  db: Executor,
  { serverId, cellId, imageId, lastError }: ServerReplica,
): Promise<void> {
  await db.run(REMOVE, { serverId, cellId, imageId, lastError })
}

/** The cell that keeps an image of the server; null: none does, or it is not to. */
export async function replicaCellOf(db: Executor, serverId: string): Promise<CellId | null> {
  const [row] = await db.orm
    .select({ cellId: serverReplicas.cellId })
    .from(serverReplicas)
    .innerJoin(
      serverProtections,
      and(
        eq(serverProtections.serverId, serverReplicas.serverId),
        eq(serverProtections.toCellId, serverReplicas.cellId),
      ),
    )
    .where(and(eq(serverReplicas.serverId, serverId), isNotNull(serverReplicas.imageId)))
  return row === undefined ? null : (row.cellId as CellId)
}

/** By server: the image that a cell keeps for it, and the name of that cell. */
export async function keptReplicas(
  db: Executor,
  serverIds: readonly string[],
): Promise<ReadonlyMap<string, { readonly imageId: string; readonly cell: string }>> {
  if (serverIds.length === 0) return new Map()
  const { serverId, cellId, imageId } = serverReplicas
  const rows = await db.orm
    .select({ serverId, imageId, cell: cellMappings.name })
    .from(serverReplicas)
    .innerJoin(cellMappings, eq(cellMappings.id, cellId))
    .innerJoin(
      serverProtections,
      and(eq(serverProtections.serverId, serverId), eq(serverProtections.toCellId, cellId)),
    )
    .where(and(inArray(serverId, [...serverIds]), isNotNull(imageId)))
  return new Map(rows.map((row) => [row.serverId, { imageId: row.imageId ?? '', cell: row.cell }]))
}

function isReplica(serverId: string, cellId: string) {
  return and(eq(serverReplicas.serverId, serverId), eq(serverReplicas.cellId, cellId))
}
