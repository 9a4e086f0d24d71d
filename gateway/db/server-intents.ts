import { and, asc, eq, gt, isNull, sql } from 'drizzle-orm'
import type { WorkContext } from '#common/context.ts'
import type { Executor, Tx } from '#common/db/database.ts'
import { isDuplicate } from '#common/db/failures.ts'
import { builder, sqlStatement, statement } from '#common/db/statement.ts'
import type { CellId, InstanceId } from '#common/ids.ts'
import type { IntentAction } from '#common/states/intent-actions.ts'
import type { Intent, ListedIntent } from '../app/intents/intents.ts'
import { instanceMappings, serverIndex, serverIntents } from './schema/servers.ts'

const p = sql.placeholder
const serverId = p('serverId')

const LOCK = statement(
  builder.select().from(serverIntents).where(eq(serverIntents.serverId, serverId)).for('update'),
)

const INSERT = statement(
  builder.insert(serverIntents).values({
    id: p('id'),
    serverId,
    action: p('action'),
    projectId: p('projectId'),
    userId: p('userId'),
    work: p('work'),
    createdAt: sql`now(3)`,
  }),
)

const REMOVE = statement(
  builder
    .delete(serverIntents)
    .where(and(eq(serverIntents.serverId, serverId), eq(serverIntents.id, p('id')))),
)

const SHOW = statement(
  builder
    .update(serverIndex)
    .set({ intent: sql`${p('action')}`, updatedAt: sql`now(3)` })
    .where(
      and(
        eq(serverIndex.serverId, serverId),
        isNull(serverIndex.deletedAt),
        eq(serverIndex.isDeleting, false),
      ),
    ),
)

const UNSHOW = statement(
  builder
    .update(serverIndex)
    .set({ intent: null, updatedAt: sql`now(3)` })
    .where(eq(serverIndex.serverId, serverId)),
)

/** A delete does not wait for a request that is changing the server. */
const DUE = sqlStatement(sql`
  select i.*, m.cell_id, m.attempt, s.host_id from server_intents i
  left join instance_mappings m on m.server_id = i.server_id
  left join server_index s on s.server_id = i.server_id
  where (m.cell_id is null or not json_contains(${p('unreachable')}, json_quote(m.cell_id)))
    and (m.saga_id is null or i.action = 'delete')
  order by i.serial limit ${p('max')}`)

interface IntentRow {
  readonly serial: number
  readonly id: string
  readonly server_id: InstanceId
  readonly action: IntentAction
  readonly project_id: string
  readonly user_id: string
  readonly work: WorkContext
  readonly created_at: Date
}

/** The server's intent, locked until the transaction ends; undefined when it has none. */
export async function lockIntent(tx: Tx, server: string): Promise<Intent | undefined> {
  const [row] = await tx.rows<IntentRow>(LOCK, { serverId: server })
  return row === undefined ? undefined : intentOf(row)
}

/**
 * Adds the intent and shows it. `gone`: the server is gone or going; `taken`: the server has one, from a request at the
 * same moment, and this one was not added.
 */
export async function addIntent(tx: Tx, intent: Intent): Promise<'added' | 'gone' | 'taken'> {
  const { affectedRows } = await tx.run(SHOW, { serverId: intent.serverId, action: intent.action })
  if (affectedRows !== 1) return 'gone'
  try {
    await tx.run(INSERT, { ...intent })
    return 'added'
  } catch (error) {
    if (isDuplicate(error, 'server_intents_server')) return 'taken'
    throw error
  }
}

/** Afterwards the intent is gone, and not shown. False when it was gone before: another request has taken it. */
export async function removeIntent(
  tx: Tx,
  { serverId: server, id }: Pick<Intent, 'serverId' | 'id'>,
): Promise<boolean> {
  const { affectedRows } = await tx.run(REMOVE, { serverId: server, id })
  if (affectedRows === 1) tx.queue(UNSHOW, { serverId: server })
  return affectedRows === 1
}

export interface IntentPageQuery {
  /** Of one project; absent: of all. */
  readonly projectId?: string | undefined
  readonly cellId?: string | undefined
  readonly serverId?: string | undefined
  /** The serial the page starts after. */
  readonly after: number
  readonly limit: number
}

/** Intents in the order in which they were asked for. */
export async function listIntents(
  db: Executor,
  query: IntentPageQuery,
): Promise<readonly ListedIntent[]> {
  const { projectId, cellId, serverId: server, after, limit } = query
  const rows = await db.orm
    .select({ intent: serverIntents, cellId: instanceMappings.cellId })
    .from(serverIntents)
    .leftJoin(instanceMappings, eq(instanceMappings.serverId, serverIntents.serverId))
    .where(
      and(
        gt(serverIntents.serial, after),
        projectId === undefined ? undefined : eq(serverIntents.projectId, projectId),
        cellId === undefined ? undefined : eq(instanceMappings.cellId, cellId),
        server === undefined ? undefined : eq(serverIntents.serverId, server),
      ),
    )
    .orderBy(asc(serverIntents.serial))
    .limit(limit)
  return rows.map(({ intent, cellId: cell }) => ({
    ...intent,
    serverId: intent.serverId as InstanceId,
    action: intent.action as IntentAction,
    work: intent.work as WorkContext,
    cellId: cell as CellId | null,
  }))
}

/** Undefined when there is none of this id. */
export async function findIntent(db: Executor, id: string): Promise<Intent | undefined> {
  const [row] = await db.orm.select().from(serverIntents).where(eq(serverIntents.id, id))
  return (
    row && {
      ...row,
      serverId: row.serverId as InstanceId,
      action: row.action as IntentAction,
      work: row.work as WorkContext,
    }
  )
}

/** An intent, and where its server is now. */
export interface DueIntent extends Intent {
  /** Null when the server is in no cell, or gone. */
  readonly cellId: CellId | null
  readonly attempt: number | null
  /** The host it was shown on last; null when it is on none, or gone. */
  readonly hostId: string | null
}

/** The oldest intents that can be carried out: of servers that are in none of these cells, and that no saga holds. */
export async function dueIntents(
  db: Executor,
  unreachable: readonly CellId[],
  max: number,
): Promise<readonly DueIntent[]> {
  type Row = IntentRow & {
    readonly cell_id: CellId | null
    readonly attempt: number | null
    readonly host_id: string | null
  }
  const values = { unreachable: JSON.stringify(unreachable), max: BigInt(max) }
  const rows = await db.rows<Row>(DUE, values)
  return rows.map((row) => ({
    ...intentOf(row),
    cellId: row.cell_id,
    attempt: row.attempt,
    hostId: row.host_id,
  }))
}

function intentOf(row: IntentRow): Intent {
  return {
    id: row.id,
    serverId: row.server_id,
    action: row.action,
    projectId: row.project_id,
    userId: row.user_id,
    work: row.work,
  }
}
