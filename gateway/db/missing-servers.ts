import { sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { sqlStatement } from '#common/db/statement.ts'
import type { CellId, InstanceId } from '#common/ids.ts'
import { ascii } from './server-attempts.ts'

const cellId = sql.placeholder('cellId')

const inRange = sql`s.cell_id = ${cellId} and s.server_id > ${sql.placeholder('after')}
  and s.server_id <= ${sql.placeholder('upTo')} and s.deleted_at is null and s.version > 0`

const isKnown = sql`exists (select 1 from json_table(${sql.placeholder('known')}, '$[*]' columns (
  server_id ${ascii(36)} path '$')) v where v.server_id = s.server_id)`

const MARK = sqlStatement(sql`
  update server_index s set s.missing_since = coalesce(s.missing_since, now(3))
  where ${inRange} and not ${isKnown}`)

const UNMARK = sqlStatement(sql`
  update server_index s set s.missing_since = null
  where ${inRange} and s.missing_since is not null and ${isKnown}`)

const COUNT = sqlStatement(sql`
  select cell_id, count(*) as servers from server_index
  where missing_since is not null and deleted_at is null group by cell_id`)

const LIST = sqlStatement(sql`
  select m.cell_id, m.server_id, m.attempt
  from server_index s join instance_mappings m on m.server_id = s.server_id
  where s.missing_since is not null and s.deleted_at is null and m.cell_id is not null
    and m.is_deleting = false and m.saga_id is null and s.server_id > ${sql.placeholder('after')}
  order by s.server_id limit ${sql.placeholder('max')}`)

export interface MissingServer {
  readonly cellId: CellId
  readonly serverId: InstanceId
  readonly attempt: number
}

export interface IdRange {
  /** Exclusive; null: from the beginning. */
  readonly after: string | null
  /** Inclusive; null: to the end. */
  readonly upTo: string | null
  readonly known: readonly string[]
}

/**
 * Afterwards those servers of the range are marked that the cell has spoken of before, has still, and that are not
 * among the known; the known ones are not. Returns how many are marked.
 */
export async function markMissing(tx: Tx, cell: CellId, range: IdRange): Promise<number> {
  const values = {
    cellId: cell,
    after: range.after ?? '',
    upTo: range.upTo ?? '~',
    known: JSON.stringify(range.known),
  }
  await tx.run(UNMARK, values)
  return (await tx.run(MARK, values)).affectedRows
}

/**
 * Marked servers, in the order of their ids after one, at most `max`, each with the cell of its mapping; servers with work in
 * progress are left out.
 */
export async function missingServers(
  db: Executor,
  after: string,
  max: number,
): Promise<readonly MissingServer[]> {
  const rows = await db.rows<{ cell_id: CellId; server_id: InstanceId; attempt: number }>(LIST, {
    after,
    max: BigInt(max),
  })
  return rows.map((row) => ({
    cellId: row.cell_id,
    serverId: row.server_id,
    attempt: row.attempt,
  }))
}

/** By cell, the number of servers that are mapped to it and that it does not have; cells without such servers are absent. */
export async function countMissing(db: Executor): Promise<ReadonlyMap<string, number>> {
  const rows = await db.rows<{ cell_id: string; servers: number }>(COUNT, {})
  return new Map(rows.map((row) => [row.cell_id, Number(row.servers)]))
}
