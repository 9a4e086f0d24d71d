import {
  bigint,
  boolean,
  index,
  int,
  json,
  mediumtext,
  mysqlTable,
  text,
  unique,
} from 'drizzle-orm/mysql-core'
import { text255, time, token, uuid } from '#common/db/columns.ts'

/** Where projects want their events sent, and how far each has come. */
export const webhooks = mysqlTable(
  'webhooks',
  {
    id: uuid('id').primaryKey(),
    projectId: token('project_id').notNull(),
    name: text255('name').notNull(),
    url: text('url').notNull(),
    /** Types of events; empty: all. */
    types: json('types').$type<readonly string[]>().notNull(),
    sealedSecret: text('sealed_secret').notNull(),
    /** The secret before it, which also signs until the time beside it. */
    formerSealedSecret: text('former_sealed_secret'),
    formerSecretEndsAt: time('former_secret_ends_at'),
    isEnabled: boolean('is_enabled').notNull(),
    createdAt: time('created_at').notNull(),
    updatedAt: time('updated_at').notNull(),
    /** The number of the last event that was delivered, or is not to be. Deliveries compare and set it. */
    upTo: bigint('up_to', { mode: 'number' }).notNull(),
    /** Failed attempts in a row, at the event after `upTo` and at those before it. */
    failures: int('failures').notNull().default(0),
    failingSince: time('failing_since'),
    nextAttemptAt: time('next_attempt_at').notNull(),
    deliveredAt: time('delivered_at'),
    /** Null while the last attempt was taken. */
    lastError: text255('last_error'),
  },
  (t) => [index('webhooks_project').on(t.projectId)],
)

/** Events that a webhook did not take in time, as they were sent. */
export const webhookDeadLetters = mysqlTable(
  'webhook_dead_letters',
  {
    id: bigint('id', { mode: 'number' }).autoincrement().primaryKey(),
    webhookId: uuid('webhook_id').notNull(),
    /** Of the event. */
    n: bigint('n', { mode: 'number' }).notNull(),
    type: token('type', 32).notNull(),
    body: mediumtext('body').notNull(),
    at: time('at').notNull(),
    error: text255('error').notNull(),
    /** True from the request to send it again until the attempt. */
    isDue: boolean('is_due').notNull().default(false),
  },
  (t) => [
    unique('webhook_dead_letters_event').on(t.webhookId, t.n),
    index('webhook_dead_letters_at').on(t.at),
    index('webhook_dead_letters_due').on(t.isDue),
  ],
)
