import { boolean, index, int, json, mysqlTable, text } from 'drizzle-orm/mysql-core'
import { text255, time, token, uuid } from '#common/db/columns.ts'

/** Every compute that ever reported to this cell, as last seen. */
export const hosts = mysqlTable(
  'hosts',
  {
    hostId: uuid('host_id').primaryKey(),
    /** Grows with every change that is shown. */
    version: int('version').notNull(),
    name: token('name').notNull(),
    /** The one its aggregates say, else its own. */
    zone: text255('zone').notNull(),
    ownZone: text255('own_zone').notNull(),
    /** HostAggregate[], as a gateway last sent them. */
    aggregates: json('aggregates').notNull(),
    /** ProviderSettings, as a gateway last sent them; null: none. */
    settings: json('settings'),
    driver: token('driver').notNull(),
    simulated: boolean('simulated').notNull(),
    capabilities: json('capabilities').notNull(),
    isUp: boolean('is_up').notNull(),
    /** Why the backend cannot be used; null while it can. */
    down: text('down'),
    isDisabled: boolean('is_disabled').notNull().default(false),
    disabledReason: text255('disabled_reason'),
    isForcedDown: boolean('is_forced_down').notNull().default(false),
    /** When the cell made sure that none of its guests runs, because it did not answer; null: it did not, or the host has started since. */
    fencedAt: time('fenced_at'),
    /** It is told of no contact to a gateway any more, so that it stops its guests by itself. */
    isLeftAlone: boolean('is_left_alone').notNull().default(false),
    /** Why it was not fenced although it does not answer. */
    fenceProblem: text('fence_problem'),
    /** TriedFenceDevice; null: the cell fences it by nothing. */
    fenceDevice: json('fence_device'),
    inventory: json('inventory'),
    /** HostNetwork; null: it is joined to no network engine. */
    network: json('network'),
    /** The database was restored since the host was last compared with it: what the host says is believed, once. */
    isAuthoritative: boolean('is_believed').notNull().default(false),
    /** An operator has had it forgotten; it is back once its compute has started again. */
    isDeleted: boolean('is_deleted').notNull().default(false),
    /** The provider's generation when its usage was last put into the feed. */
    shownGeneration: int('shown_generation').notNull(),
    startedAt: time('started_at').notNull(),
    lastSeenAt: time('last_seen_at').notNull(),
  },
  (t) => [index('hosts_name').on(t.name)],
)
