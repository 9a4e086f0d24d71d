import { and, eq, isNull, type SQL, sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import type { VmState } from '#common/states/instance-states.ts'
import type { ServerRecord } from '../app/servers/list/server-record.ts'
import { serverIndex } from './schema/servers.ts'

/** The fields that a user changes of a server without asking its cell; absent fields stay. */
export type ServerChange = Partial<
  Pick<
    ServerRecord,
    | 'name'
    | 'hostname'
    | 'description'
    | 'metadata'
    | 'tags'
    | 'diskConfig'
    | 'accessIPv4'
    | 'accessIPv6'
    | 'isLocked'
    | 'lockedBy'
    | 'lockedReason'
  >
>

const now = sql`now(3)`

/**
 * Writes the change. False, and nothing is written, when meanwhile the server went, was locked or unlocked, or had
 * the metadata or tags changed that this would overwrite.
 */
export async function changeServer(
  db: Executor,
  was: ServerRecord,
  change: ServerChange,
): Promise<boolean> {
  const [result] = await db.orm
    .update(serverIndex)
    .set({ ...change, updatedAt: now })
    .where(
      and(
        eq(serverIndex.serverId, was.id),
        isNull(serverIndex.deletedAt),
        eq(serverIndex.isLocked, was.isLocked),
        change.metadata && isSame(serverIndex.metadata, was.metadata),
        change.tags && isSame(serverIndex.tags, was.tags),
      ),
    )
  return result.affectedRows === 1
}

/** As `changeServer`, of the state of a server that is in no cell; false, too, when one has it by now. */
export async function resetUnplacedServer(
  db: Executor,
  { id, attempt }: ServerRecord,
  vmState: VmState,
): Promise<boolean> {
  const [result] = await db.orm
    .update(serverIndex)
    .set({ vmState, taskState: null, updatedAt: now })
    .where(
      and(
        eq(serverIndex.serverId, id),
        eq(serverIndex.attempt, attempt),
        isNull(serverIndex.cellId),
        isNull(serverIndex.deletedAt),
      ),
    )
  return result.affectedRows === 1
}

/** JSON is stored as text: two spellings of one value must be equal. */
function isSame(
  column: typeof serverIndex.metadata | typeof serverIndex.tags,
  value: unknown,
): SQL {
  const text = JSON.stringify(value)
  return sql`json_contains(${column}, ${text}) and json_contains(${text}, ${column})`
}
