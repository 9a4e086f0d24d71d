import { and, asc, eq, exists, gt, lte, or, sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { sqlStatement } from '#common/db/statement.ts'
import { events } from './schema/events.ts'
import { webhooks } from './schema/webhooks.ts'
import { SIGNING_SECRETS, type Webhook } from './webhooks.ts'

/** A webhook with events to send. */
export interface DueWebhook
  extends Pick<
    Webhook,
    'id' | 'projectId' | 'url' | 'types' | 'upTo' | 'failures' | 'failingSince'
  > {
  readonly sealedSecret: string
  /** Null where it does not sign. */
  readonly formerSealedSecret: string | null
  /** By the database's clock; events and failures since before it have been tried for long enough. */
  readonly givenUpBefore: Date
}

/** Of a delivery, so that of two gateways only one advances a webhook. */
export type Reached = Pick<DueWebhook, 'id' | 'upTo'>

const now = sql`now(3)`

/** Attempts are never this far ahead, unless the database's clock was set back. */
const AHEAD_MAX = sql`now(3) + interval 1 hour`

const ANY = sqlStatement(sql`
  select exists (select 1 from webhooks where is_enabled)
    or exists (select 1 from webhook_dead_letters where is_due) as found`)

/** False while nothing will be sent to any webhook until one is made, enabled, or told to get a dead letter again. */
export async function areWebhooks(db: Executor): Promise<boolean> {
  const [row] = await db.rows<{ found: number }>(ANY, {})
  return row?.found === 1
}

/**
 * Enabled webhooks that there are events for, and whose next attempt is due: those that have waited longest first.
 * Those whose last attempt failed are asked for apart, so that any number of them leaves room for the others.
 */
export async function dueWebhooks(
  db: Executor,
  isFailing: boolean,
  retryMs: number,
  max: number,
): Promise<readonly DueWebhook[]> {
  const ofProject = and(eq(events.projectId, webhooks.projectId), gt(events.n, webhooks.upTo))
  const waiting = db.orm.select({ n: events.n }).from(events).where(ofProject)
  const isDue = and(
    eq(webhooks.isEnabled, true),
    isFailing ? gt(webhooks.failures, 0) : eq(webhooks.failures, 0),
    or(lte(webhooks.nextAttemptAt, now), gt(webhooks.nextAttemptAt, AHEAD_MAX)),
    exists(waiting),
  )
  const rows = await db.orm
    .select({
      webhook: webhooks,
      secrets: SIGNING_SECRETS,
      givenUpBefore: sql<Date>`now(3) - interval ${retryMs * 1_000} microsecond`.mapWith(
        webhooks.createdAt,
      ),
    })
    .from(webhooks)
    .where(isDue)
    .orderBy(asc(webhooks.nextAttemptAt))
    .limit(max)
  return rows.map(({ webhook, secrets, givenUpBefore }) => ({
    ...webhook,
    ...secrets,
    givenUpBefore,
  }))
}

/** Afterwards the events up to a number were taken. False when another gateway has advanced it, or it was changed meanwhile. */
export async function advance(db: Executor, from: Reached, upTo: number): Promise<boolean> {
  return changed(db, from, {
    upTo,
    failures: 0,
    failingSince: null,
    lastError: null,
    deliveredAt: now,
  })
}

/** Afterwards the events up to a number, which it does not want, are passed over. */
export async function passOver(db: Executor, from: Reached, upTo: number): Promise<boolean> {
  return changed(db, from, { upTo })
}

/** Afterwards its next attempt is due after a pause, and it has failed since the first failure in a row. */
export async function postpone(
  db: Executor,
  from: Reached & Pick<DueWebhook, 'failures'>,
  error: string,
  pauseMs: number,
): Promise<boolean> {
  return changed(db, from, {
    failures: from.failures + 1,
    failingSince: sql`coalesce(failing_since, now(3))`,
    nextAttemptAt: sql`now(3) + interval ${pauseMs * 1_000} microsecond`,
    lastError: error,
  })
}

/** Afterwards the events up to a number are given up. */
export async function giveUp(
  db: Executor,
  from: Reached & Pick<DueWebhook, 'failures'>,
  upTo: number,
  error: string,
): Promise<boolean> {
  return changed(db, from, { upTo, failures: from.failures + 1, lastError: error })
}

async function changed(
  db: Executor,
  { id, upTo }: Reached,
  change: Parameters<ReturnType<Executor['orm']['update']>['set']>[0],
): Promise<boolean> {
  const [result] = await db.orm
    .update(webhooks)
    .set(change)
    .where(and(eq(webhooks.id, id), eq(webhooks.upTo, upTo)))
  return result.affectedRows === 1
}
