import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  double,
  index,
  int,
  json,
  mysqlTable,
  primaryKey,
  text,
  uniqueIndex,
} from 'drizzle-orm/mysql-core'
import { text255, time, token, uuid } from '#common/db/columns.ts'

/** Every cell there is, and how far its change feed has been applied. */
export const cellMappings = mysqlTable('cell_mappings', {
  id: uuid('id').primaryKey(),
  name: token('name').notNull().unique(),
  isDisabled: boolean('is_disabled').notNull().default(false),
  disabledReason: text255('disabled_reason'),
  /** By which its free room counts when a cell is chosen. */
  weight: double('weight').notNull().default(1),
  /** Hosts tunnel to those of cells in the same zone only; null: the zone of all cells for which none is named. */
  transportZone: token('transport_zone'),
  /** Values by key, by which placement policies select cells; null: none. */
  labels: json('labels'),
  /** `Taint[]`, which keep away servers whose placement policy does not tolerate them; null: none. */
  taints: json('taints'),
  /** How long no gateway has heard it before its servers are rebuilt in other cells; null: never by itself. */
  recoverAfterS: int('recover_after_s'),
  /** Grows with every change an operator makes. */
  revision: int('revision').notNull().default(0),
  /** Of the cell's database, as last seen in its feed; null before the first contact. */
  incarnation: uuid('incarnation'),
  appliedPosition: bigint('applied_position', { mode: 'number' }).notNull().default(0),
  /** Set until a full copy of the cell has been read. */
  needsResync: boolean('needs_resync').notNull().default(true),
  /** The last announced state: a cell's silence is one event, whichever gateway notices. */
  isUnreachable: boolean('is_dark').notNull().default(false),
  lastHeartbeatAt: time('last_heartbeat_at'),
  /** CellSummary of the last heartbeat. */
  summary: json('summary'),
  // Set while the cell counts as lost.
  lostAt: time('lost_at'),
  lostBy: token('lost_by'),
  /** How its machines were stopped, in the operator's words. */
  lostStatement: text('lost_statement'),
  createdAt: time('created_at').notNull(),
})

/** The last test of the network between the hosts of two cells. */
export const cellTunnels = mysqlTable(
  'cell_tunnels',
  {
    /** The one with the lower id. */
    cellId: uuid('cell_id').notNull(),
    otherCellId: uuid('other_cell_id').notNull(),
    /** What did not work; null: everything did. */
    failure: text('failure'),
    testedAt: time('tested_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.cellId, t.otherCellId] }),
    index('cell_tunnels_by_other').on(t.otherCellId),
  ],
)

/** The bus account of every cell that ever was: what a credential of the cell descends from. */
export const cellAccounts = mysqlTable(
  'cell_accounts',
  {
    /** Public nkey (`A…`). */
    publicKey: token('public_key').primaryKey(),
    cellId: uuid('cell_id').notNull(),
    /** The account's signed permission for the gateways, for its service and for its feed. */
    serviceActivation: text('service_activation').notNull(),
    feedActivation: text('feed_activation').notNull(),
    /** The private nkey. */
    sealedSeed: text('sealed_seed').notNull(),
    createdAt: time('created_at').notNull(),
    /** From then on nothing that was signed by it counts; null while it is good. */
    revokedAt: time('revoked_at'),
  },
  (t) => [index('cell_accounts_by_cell').on(t.cellId)],
)

/**
 * Every key that acts on the bus as a cell or as one of its hosts: one row per join, however often its credential was
 * renewed.
 */
export const busKeys = mysqlTable(
  'bus_keys',
  {
    /** Public nkey of the user (`U…`). */
    publicKey: token('public_key').primaryKey(),
    cellId: uuid('cell_id').notNull(),
    /** Null where it acts as the cell itself. */
    hostId: uuid('host_id'),
    createdAt: time('created_at').notNull(),
    /** From then on the bus refuses it for good; null while it is good. */
    shutOutAt: time('shut_out_at'),
  },
  (t) => [index('bus_keys_by_cell').on(t.cellId), index('bus_keys_by_host').on(t.hostId)],
)

/** Rights to join, each for one new cell or one new host, and once. */
export const joinTokens = mysqlTable(
  'join_tokens',
  {
    id: uuid('id').primaryKey(),
    /** SHA-256 of the secret; only the first answer has the secret itself. */
    secretHash: token('secret_hash').notNull().unique(),
    // What joins with it has these ids and names.
    cellId: uuid('cell_id').notNull(),
    cellName: token('cell_name').notNull(),
    hostId: uuid('host_id'),
    hostName: token('host_name'),
    createdAt: time('created_at').notNull(),
    expiresAt: time('expires_at').notNull(),
    usedAt: time('used_at'),
    /** The public key that it let in; only the same one is answered again. */
    usedBy: token('used_by'),
  },
  (t) => [index('join_tokens_expire').on(t.expiresAt)],
)

const STORED = { mode: 'stored' } as const
const flagOfView = (name: string) => sql.raw(`json_value(view, '$.${name}') = '1'`)

/** Last known view of every host of every cell (`HostView`). */
export const hostIndex = mysqlTable(
  'host_index',
  {
    cellId: uuid('cell_id').notNull(),
    hostId: uuid('host_id').notNull(),
    name: token('name').notNull(),
    version: int('version').notNull(),
    view: json('view').notNull(),
    // Of the view: looking into those of a thousand hosts takes the database tens of milliseconds.
    isDeleted: boolean('is_deleted').generatedAlwaysAs(flagOfView('isDeleted'), STORED),
    isUp: boolean('is_up').generatedAlwaysAs(flagOfView('isUp'), STORED),
    isForcedDown: boolean('is_forced_down').generatedAlwaysAs(flagOfView('isForcedDown'), STORED),
    zone: text255('zone').generatedAlwaysAs(sql`left(json_value(view, '$.zone'), 255)`, STORED),
    capabilities: text('capabilities').generatedAlwaysAs(
      sql`json_extract(view, '$.capabilities')`,
      STORED,
    ),
    updatedAt: time('updated_at').notNull(),
    /** Stable small numbers, which clients below microversion 2.53 use as ids. */
    serial: int('serial').notNull().autoincrement().unique(),
    createdAt: time('created_at').notNull(),
  },
  // A host belongs to one cell: a request by the host's id alone never reaches another cell's.
  (t) => [
    primaryKey({ columns: [t.cellId, t.hostId] }),
    uniqueIndex('host_index_host').on(t.hostId),
    index('host_index_name').on(t.name),
    // All that a choice of a cell asks of hosts, in the order in which it groups them.
    index('host_index_state').on(t.isDeleted, t.cellId, t.zone, t.isUp, t.isForcedDown),
  ],
)

/** Scheduling decisions: of one attempt the choice of a cell, and each choice of a host in it. */
export const traces = mysqlTable(
  'traces',
  {
    serverId: uuid('server_id').notNull(),
    attempt: int('attempt').notNull(),
    /** `cells`, or `hosts`. */
    level: token('level', 8).notNull(),
    /** When it was decided, in milliseconds since the epoch, by the clock of who decided. */
    decidedAt: bigint('decided_at', { mode: 'number' }).notNull(),
    /** KeptTrace. */
    trace: json('trace').notNull(),
    createdAt: time('created_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.serverId, t.attempt, t.level, t.decidedAt] }),
    index('traces_created').on(t.createdAt),
  ],
)
