import { and, asc, eq, lte, sql } from 'drizzle-orm'
import type { Executor, Transactional, Tx } from '#common/db/database.ts'
import { serverProtections } from './schema/protections.ts'
import type { ServerProtection } from './server-protections.ts'

/** A backup that one gateway is to begin, as the parameters of its saga have it. */
export type TakenBackup = {
  /** When it is due again, unless it has begun by then. While the schedule still has this time, no other gateway has taken the backup. */
  readonly dueAgainMs: number
  /** The backup before; null: it is the first. */
  readonly former: { readonly imageId: string; readonly atMs: number } | null
}

const now = sql`now(3)`
const ERROR_MAX = 255
/** Seconds; longer than it takes to begin a backup: the gateway that was to has ended. */
const TAKEN_S = 30
/** A server that cannot be saved now is tried again no later. */
export const AGAIN_MAX_S = 300

/** Those whose next backup is due, the longest due first. */
export async function dueProtections(
  db: Executor,
  max: number,
): Promise<readonly ServerProtection[]> {
  return db.orm
    .select()
    .from(serverProtections)
    .where(lte(serverProtections.nextAt, now))
    .orderBy(asc(serverProtections.nextAt))
    .limit(max)
}

/**
 * Makes one gateway the one that begins the backup which is due: the schedule as it is now, for it alone. It is due again
 * soon, should that gateway end before.
 */
export function takeDue(
  db: Transactional,
  due: ServerProtection,
): Promise<ServerProtection | undefined> {
  return db.transaction(async (tx) => {
    const [result] = await tx.orm
      .update(serverProtections)
      .set({ nextAt: sql`now(3) + interval ${TAKEN_S} second` })
      .where(isSame(due.serverId, due.nextAt))
    if (result.affectedRows !== 1) return undefined
    const ofServer = eq(serverProtections.serverId, due.serverId)
    const [row] = await tx.orm.select().from(serverProtections).where(ofServer)
    return row
  })
}

/** With the first commit of a backup: it is the last one, and the next is due after the schedule's time. False, and nothing changed, when it was taken again since, or its schedule was removed. */
export async function beginBackup(
  tx: Tx,
  serverId: string,
  imageId: string,
  { dueAgainMs }: TakenBackup,
): Promise<boolean> {
  const nextAt = sql`now(3) + interval ${serverProtections.everyS} second`
  const [result] = await tx.orm
    .update(serverProtections)
    .set({ lastAt: now, lastImageId: imageId, lastError: null, nextAt })
    .where(isSame(serverId, new Date(dueAgainMs)))
  return result.affectedRows === 1
}

/** Afterwards a backup that had begun, and that the server's cell has refused, is not the last one, and is tried again soon. */
export async function giveUpBackup(
  tx: Tx,
  serverId: string,
  imageId: string,
  { former }: TakenBackup,
  error: string,
): Promise<void> {
  const { lastImageId } = serverProtections
  const lastAt = former === null ? null : new Date(former.atMs)
  await tx.orm
    .update(serverProtections)
    .set({ lastAt, lastImageId: former?.imageId ?? null, ...triedAgain(error, AGAIN_MAX_S) })
    .where(and(eq(serverProtections.serverId, serverId), eq(lastImageId, imageId)))
}

/** Afterwards one that was taken and did not begin is tried again after so many seconds, unless somebody else has taken it. */
export async function deferBackup(
  db: Executor,
  { serverId, nextAt }: ServerProtection,
  { error, againS }: { readonly error: string; readonly againS: number },
): Promise<void> {
  const change = triedAgain(error, againS)
  await db.orm.update(serverProtections).set(change).where(isSame(serverId, nextAt))
}

/** Afterwards a server that is gone has no schedule, unless it has been protected again since. */
export async function endProtection(
  db: Executor,
  { serverId, nextAt }: ServerProtection,
): Promise<void> {
  await db.orm.delete(serverProtections).where(isSame(serverId, nextAt))
}

function triedAgain(error: string, againS: number) {
  const { everyS } = serverProtections
  const nextAt = sql`now(3) + interval least(${everyS}, ${againS}) second`
  return { lastError: error.slice(0, ERROR_MAX), nextAt }
}

/** True while the next backup is due at this time: no gateway has taken it since. */
function isSame(serverId: string, nextAt: Date) {
  return and(eq(serverProtections.serverId, serverId), eq(serverProtections.nextAt, nextAt))
}
