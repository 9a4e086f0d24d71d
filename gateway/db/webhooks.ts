import { and, asc, eq, gt, sql } from 'drizzle-orm'
import type { ResultSetHeader } from 'mysql2'
import type { Executor, Transactional, Tx } from '#common/db/database.ts'
import { lockProject } from './project-locks.ts'
import { webhookDeadLetters, webhooks } from './schema/webhooks.ts'

/** Where a project wants its events sent. */
export interface Webhook {
  readonly id: string
  readonly projectId: string
  readonly name: string
  readonly url: string
  /** Types of events; empty: all. */
  readonly types: readonly string[]
  readonly isEnabled: boolean
  readonly createdAt: Date
  readonly updatedAt: Date
  /** The number of the last event that was delivered, or is not to be. */
  readonly upTo: number
  /** Failed attempts in a row. */
  readonly failures: number
  readonly failingSince: Date | null
  readonly nextAttemptAt: Date
  readonly deliveredAt: Date | null
  readonly lastError: string | null
  /** Until then the secret before the last one signs, too. */
  readonly formerSecretEndsAt: Date | null
}

export type NewWebhook = Pick<
  Webhook,
  'id' | 'projectId' | 'name' | 'url' | 'types' | 'isEnabled' | 'upTo'
> & { readonly sealedSecret: string }

/** What is undefined stays as it is. */
export type WebhookChange = {
  readonly [Name in 'name' | 'url' | 'types' | 'isEnabled' | 'upTo']?: Webhook[Name] | undefined
}

export interface WebhookRange {
  /** Absent: of all projects. */
  readonly projectId?: string | undefined
  /** The id that the page starts after. */
  readonly after: string
  readonly limit: number
}

const now = sql`now(3)`

/** Adds it if the project has fewer than `max`; false if it has not. */
export async function insertWebhook(tx: Tx, fresh: NewWebhook, max: number): Promise<boolean> {
  await lockProject(tx, fresh.projectId, 'webhooks')
  const own = await tx.orm.$count(webhooks, eq(webhooks.projectId, fresh.projectId))
  if (own >= max) return false
  const times = { createdAt: now, updatedAt: now, nextAttemptAt: now }
  await tx.orm.insert(webhooks).values({ ...fresh, types: [...fresh.types], ...times })
  return true
}

export async function findWebhook(db: Executor, id: string): Promise<Webhook | undefined> {
  const [row] = await db.orm.select().from(webhooks).where(eq(webhooks.id, id))
  return row === undefined ? undefined : webhookOf(row)
}

/** In the order of their creation. */
export async function listWebhooks(
  db: Executor,
  { projectId, after, limit }: WebhookRange,
): Promise<readonly Webhook[]> {
  const ofProject = projectId === undefined ? undefined : eq(webhooks.projectId, projectId)
  const rows = await db.orm
    .select()
    .from(webhooks)
    .where(and(gt(webhooks.id, after), ofProject))
    .orderBy(asc(webhooks.id))
    .limit(limit)
  return rows.map(webhookOf)
}

/** Afterwards it is so, and its next attempt is due. False when there is none. */
export async function updateWebhook(
  db: Executor,
  id: string,
  { types, ...change }: WebhookChange,
): Promise<boolean> {
  const [result] = await db.orm
    .update(webhooks)
    .set({
      ...change,
      ...(types === undefined ? {} : { types: [...types] }),
      updatedAt: now,
      nextAttemptAt: now,
    })
    .where(eq(webhooks.id, id))
  return result.affectedRows === 1
}

/**
 * Afterwards its events are signed with this secret, and for `overlapS` seconds also with the one that receivers have had
 * so far: a secret that is replaced within such a time was perhaps never seen. False when there is no such webhook.
 */
export async function replaceSecret(
  db: Executor,
  id: string,
  sealedSecret: string,
  overlapS: number,
): Promise<boolean> {
  // In this order: an assignment sees those before it.
  const [result] = await db.orm.execute(sql`update ${webhooks} set
    former_sealed_secret = if(former_secret_ends_at > now(3), former_sealed_secret, sealed_secret),
    former_secret_ends_at = now(3) + interval ${overlapS} second,
    sealed_secret = ${sealedSecret}, updated_at = now(3), next_attempt_at = now(3)
    where id = ${id}`)
  return (result as unknown as ResultSetHeader).affectedRows === 1
}

/** Those that sign now, sealed, the current one first. */
export const SIGNING_SECRETS = {
  sealedSecret: webhooks.sealedSecret,
  formerSealedSecret: sql<
    string | null
  >`if(${webhooks.formerSecretEndsAt} > now(3), ${webhooks.formerSealedSecret}, null)`,
}

/** Afterwards neither it nor its dead letters are there. False when there was none. */
export async function deleteWebhook(db: Transactional, id: string): Promise<boolean> {
  return db.transaction(async (tx) => {
    const [result] = await tx.orm.delete(webhooks).where(eq(webhooks.id, id))
    await tx.orm.delete(webhookDeadLetters).where(eq(webhookDeadLetters.webhookId, id))
    return result.affectedRows === 1
  })
}

function webhookOf(row: typeof webhooks.$inferSelect): Webhook {
  const { sealedSecret: _, formerSealedSecret: _former, ...webhook } = row
  return webhook
}
