import { and, asc, eq, gt, inArray, lt, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { webhookDeadLetters, webhooks } from './schema/webhooks.ts'
import { SIGNING_SECRETS } from './webhooks.ts'

/** An event that a webhook did not take in time, as it was sent. */
export interface DeadLetter {
  readonly id: number
  readonly webhookId: string
  /** Of the event. */
  readonly n: number
  readonly type: string
  readonly body: string
  /** When it was given up. */
  readonly at: Date
  readonly error: string
  /** True while it waits to be sent again. */
  readonly isDue: boolean
}

/** One that is to be sent again, and where to. */
export interface DueLetter extends DeadLetter {
  readonly url: string
  readonly sealedSecret: string
  /** Null where it does not sign. */
  readonly formerSealedSecret: string | null
}

export type NewDeadLetter = Pick<DeadLetter, 'webhookId' | 'n' | 'type' | 'body' | 'error'>

/** Afterwards they are kept; those that are there already stay as they are. */
export async function insertDeadLetters(tx: Tx, letters: readonly NewDeadLetter[]): Promise<void> {
  await tx.orm
    .insert(webhookDeadLetters)
    .values(letters.map((letter) => ({ ...letter, at: sql`now(3)` })))
    .onDuplicateKeyUpdate({ set: { id: sql`id` } })
}

/** Of a webhook, the oldest first, after an id. */
export async function listDeadLetters(
  db: Executor,
  webhookId: string,
  after: number,
  limit: number,
): Promise<readonly DeadLetter[]> {
  const { id } = webhookDeadLetters
  return db.orm
    .select()
    .from(webhookDeadLetters)
    .where(and(eq(webhookDeadLetters.webhookId, webhookId), gt(id, after)))
    .orderBy(asc(id))
    .limit(limit)
}

/** Afterwards it is to be sent again. False when the webhook has none of this id. */
export async function requestRedelivery(
  db: Executor,
  webhookId: string,
  id: number,
): Promise<boolean> {
  const [result] = await db.orm
    .update(webhookDeadLetters)
    .set({ isDue: true })
    .where(and(eq(webhookDeadLetters.id, id), eq(webhookDeadLetters.webhookId, webhookId)))
  return result.affectedRows === 1
}

/** Those that are to be sent again, the oldest first. */
export async function dueLetters(db: Executor, max: number): Promise<readonly DueLetter[]> {
  const rows = await db.orm
    .select({
      letter: webhookDeadLetters,
      url: webhooks.url,
      ...SIGNING_SECRETS,
    })
    .from(webhookDeadLetters)
    .innerJoin(webhooks, eq(webhooks.id, webhookDeadLetters.webhookId))
    .where(eq(webhookDeadLetters.isDue, true))
    .orderBy(asc(webhookDeadLetters.id))
    .limit(max)
  return rows.map(({ letter, ...where }) => ({ ...letter, ...where }))
}

/** Afterwards it is gone. */
export async function removeDeadLetter(db: Executor, id: number): Promise<void> {
  await db.orm.delete(webhookDeadLetters).where(eq(webhookDeadLetters.id, id))
}

/** Afterwards it waits for no attempt, and has the reason of the last one. */
export async function keepDeadLetter(db: Executor, id: number, error: string): Promise<void> {
  await db.orm
    .update(webhookDeadLetters)
    .set({ isDue: false, error })
    .where(eq(webhookDeadLetters.id, id))
}

/** Removes at most `rows` of those given up before a time, and returns how many. */
export async function purgeDeadLetters(
  db: Executor,
  olderThan: Date,
  rows: number,
): Promise<number> {
  const [result] = await db.orm
    .delete(webhookDeadLetters)
    .where(lt(webhookDeadLetters.at, olderThan))
    .limit(rows)
  return result.affectedRows
}

/** Afterwards a webhook has only its newest `max`. */
export async function boundDeadLetters(tx: Tx, webhookId: string, max: number): Promise<void> {
  const ofWebhook = eq(webhookDeadLetters.webhookId, webhookId)
  const count = await tx.orm.$count(webhookDeadLetters, ofWebhook)
  if (count <= max) return
  const oldest = await tx.orm
    .select({ id: webhookDeadLetters.id })
    .from(webhookDeadLetters)
    .where(ofWebhook)
    .orderBy(asc(webhookDeadLetters.id))
    .limit(count - max)
  const ids = oldest.map(({ id }) => id)
  await tx.orm.delete(webhookDeadLetters).where(inArray(webhookDeadLetters.id, ids))
}
