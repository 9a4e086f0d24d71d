import {
  bigint,
  boolean,
  index,
  int,
  json,
  mediumtext,
  mysqlTable,
  primaryKey,
  text,
  tinyint,
  uniqueIndex,
  varchar,
} from 'drizzle-orm/mysql-core'
import { text255, time, token, uuid } from '#common/db/columns.ts'

/** Which cell a server is in: the one truth about it, changed only by compare-and-set on `attempt`. */
export const instanceMappings = mysqlTable(
  'instance_mappings',
  {
    serverId: uuid('server_id').primaryKey(),
    projectId: token('project_id').notNull(),
    /** The amounts that the quota ledger was charged for this server, to be refunded when its row is deleted. */
    cores: int('cores').notNull(),
    ramMb: int('ram_mb').notNull(),
    /** It is charged for the larger of two sizes until its resize is over. */
    isResizing: boolean('is_resizing').notNull().default(false),
    /** It was deleted softly, and is not yet gone or known to be back. */
    isKept: boolean('is_kept').notNull().default(false),
    /** False while the server is soft-deleted: `cores` and `ramMb` are then the amounts charged when it is restored. */
    isCharged: boolean('is_charged').notNull().default(true),
    /** Null while no cell has it, and when none could build it. */
    cellId: uuid('cell_id'),
    attempt: int('attempt').notNull(),
    /** Ids of the cells that refused it or gave it up, which are not asked again. */
    triedCells: json('tried_cells').notNull(),
    /** Set by a delete; every later step of a boot is conditional on its absence. */
    isDeleting: boolean('is_deleting').notNull().default(false),
    /** The saga that is changing the server now; null when none is. */
    sagaId: uuid('saga_id'),
    /** Set when the mapped cell reported that it gave up before the guest ran: another cell may be tried. */
    isNotBuilt: boolean('is_not_built').notNull().default(false),
    notBuiltReason: text('not_built_reason'),
    /** The lost cell that it was taken from, until another has it; null: it was taken from none. */
    lostCellId: uuid('lost_cell_id'),
    createdAt: time('created_at').notNull(),
    /** Of the last change of intent, so that reconcilers leave fresh ones to their saga. */
    changedAt: time('changed_at').notNull(),
  },
  (t) => [
    index('instance_mappings_cell').on(t.cellId),
    index('instance_mappings_resizing').on(t.isResizing),
    index('instance_mappings_kept').on(t.isKept),
    // It holds all that is summed up of a project, so that a choice of a cell reads no row of a server.
    index('instance_mappings_use').on(t.projectId, t.isCharged, t.cellId, t.cores, t.ramMb),
    // Few are so at a time; with `changed_at` every change of any mapping would move its entries.
    index('instance_mappings_not_built').on(t.isNotBuilt),
    index('instance_mappings_deleting').on(t.isDeleting),
    // Null but for those that are being changed.
    index('instance_mappings_saga').on(t.sagaId),
  ],
)

/** The user's request, complete enough to build the server in any cell. Its secrets are sealed. */
export const requestSpecs = mysqlTable('request_specs', {
  serverId: uuid('server_id').primaryKey(),
  /** InstanceBuild without the image's ticket and without the secrets, which stand sealed beside it. */
  spec: json('spec').notNull(),
  sealedUserData: mediumtext('sealed_user_data'),
  /** The files that the user sends to the guest. */
  sealedFiles: mediumtext('sealed_files'),
  /** Erased once the guest has run: it is needed no more. */
  sealedPassword: text('sealed_password'),
  /** What the guest published, encrypted with its owner's key; null: nothing, or it was cleared. */
  guestPassword: text('guest_password'),
  /** How often it was cleared: a password that was published before the last time does not count. */
  passwordClears: int('password_clears').notNull().default(0),
})

/**
 * The last known view of every server, which all reads are answered from. A change is applied only when it comes
 * from the mapped cell and its (attempt, version) is newer. `updatedAt` is this database's clock at the write.
 */
export const serverIndex = mysqlTable(
  'server_index',
  {
    serverId: uuid('server_id').primaryKey(),
    projectId: token('project_id').notNull(),
    userId: token('user_id').notNull(),
    cellId: uuid('cell_id'),
    attempt: int('attempt').notNull(),
    version: int('version').notNull(),
    // Owned by the gateway.
    name: text255('name').notNull(),
    hostname: text255('hostname').notNull(),
    description: text255('description'),
    metadata: json('metadata').notNull(),
    tags: json('tags').notNull(),
    isLocked: boolean('is_locked').notNull().default(false),
    lockedReason: text255('locked_reason'),
    lockedBy: token('locked_by', 16),
    flavorId: varchar('flavor_id', { length: 255 }).notNull(),
    /** FlavorSnapshot. */
    flavor: json('flavor').notNull(),
    imageId: uuid('image_id'),
    keyName: text255('key_name'),
    configDrive: boolean('config_drive').notNull(),
    /** Network name -> addresses, as `addresses` shows them. */
    addresses: json('addresses').notNull(),
    securityGroups: json('security_groups').notNull(),
    reservationId: token('reservation_id').notNull(),
    launchIndex: int('launch_index').notNull(),
    diskConfig: token('disk_config', 8).notNull(),
    requestedZone: text255('requested_zone'),
    accessIPv4: token('access_ip_v4', 15),
    accessIPv6: token('access_ip_v6', 45),
    /** The user's request, which takes precedence over the cell's last report. */
    isDeleting: boolean('is_deleting').notNull().default(false),
    /** The action of the server's intent (`server_intents`), shown in the same way; null: it has none. */
    intent: token('intent', 8),
    /** RequestedProperties; null if the request set none. */
    requested: json('requested'),
    /** AttachedVolume[]; null: it has none. */
    volumes: json('volumes'),
    // Owned by the cell.
    vmState: token('vm_state', 20).notNull(),
    taskState: token('task_state', 32),
    powerState: tinyint('power_state').notNull(),
    hostId: uuid('host_id'),
    host: token('host'),
    hypervisorHostname: token('hypervisor_hostname'),
    instanceName: token('instance_name'),
    zone: text255('zone'),
    /** NumaAllocation; null: it holds nothing of any NUMA node of its host. */
    numa: json('numa'),
    /** HeldAmounts; null: it is on no host, or its cell did not say. */
    held: json('held'),
    fault: json('fault'),
    /** Spaces, until its cell has first said where it is: what it then says fits where the row lies (`fixedToken`). */
    room: token('room', 224),
    launchedAt: time('launched_at'),
    terminatedAt: time('terminated_at'),
    createdAt: time('created_at').notNull(),
    updatedAt: time('updated_at').notNull(),
    deletedAt: time('deleted_at'),
    /** Since when a full copy of its cell did not have it; null: it did, or none was read. */
    missingSince: time('missing_since'),
  },
  (t) => [
    index('server_index_project').on(t.projectId, t.deletedAt, t.createdAt, t.serverId),
    index('server_index_created').on(t.deletedAt, t.createdAt, t.serverId),
    index('server_index_updated').on(t.updatedAt),
    index('server_index_cell').on(t.cellId),
    index('server_index_host').on(t.host),
    index('server_index_missing').on(t.missingSince),
  ],
)

/**
 * Requests for servers in unreachable cells. A server has at most one: the newest, and a delete supersedes all. They
 * are carried out in the order of `serial`.
 */
export const serverIntents = mysqlTable(
  'server_intents',
  {
    serial: bigint('serial', { mode: 'number' }).autoincrement().primaryKey(),
    id: uuid('id').notNull(),
    serverId: uuid('server_id').notNull(),
    /** start, stop, delete. */
    action: token('action', 8).notNull(),
    projectId: token('project_id').notNull(),
    userId: token('user_id').notNull(),
    /** WorkContext of the request. */
    work: json('work').notNull(),
    createdAt: time('created_at').notNull(),
  },
  (t) => [
    uniqueIndex('server_intents_id').on(t.id),
    uniqueIndex('server_intents_server').on(t.serverId),
  ],
)

/** Actions on a server, one row per request; `server event list`. */
export const serverActions = mysqlTable(
  'server_actions',
  {
    serverId: uuid('server_id').notNull(),
    requestId: token('request_id').notNull(),
    action: token('action').notNull(),
    projectId: token('project_id').notNull(),
    /** Null: no user asked for it, its cell began it. */
    userId: token('user_id'),
    message: text('message'),
    startedAt: time('started_at').notNull(),
    updatedAt: time('updated_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.serverId, t.requestId, t.action] }),
    index('server_actions_started').on(t.startedAt),
  ],
)

export const serverActionEvents = mysqlTable(
  'server_action_events',
  {
    serverId: uuid('server_id').notNull(),
    requestId: token('request_id').notNull(),
    event: token('event').notNull(),
    startedAt: time('started_at').notNull(),
    finishedAt: time('finished_at'),
    result: token('result', 8),
    cellId: uuid('cell_id'),
    host: token('host'),
    details: text('details'),
  },
  (t) => [
    primaryKey({ columns: [t.serverId, t.requestId, t.event, t.startedAt] }),
    index('server_action_events_started').on(t.startedAt),
  ],
)

/** Every change of a server's host or size, as its cell reports it. `id` is the one that clients see. */
export const serverMigrations = mysqlTable(
  'server_migrations',
  {
    id: bigint('id', { mode: 'number' }).autoincrement().primaryKey(),
    uuid: uuid('uuid').notNull(),
    serverId: uuid('server_id').notNull(),
    cellId: uuid('cell_id').notNull(),
    version: int('version').notNull(),
    type: token('type', 16).notNull(),
    status: token('status', 16).notNull(),
    sourceHost: token('source_host'),
    sourceNode: text255('source_node'),
    destHost: token('dest_host'),
    destNode: text255('dest_node'),
    oldFlavorId: varchar('old_flavor_id', { length: 255 }).notNull(),
    newFlavorId: varchar('new_flavor_id', { length: 255 }).notNull(),
    userId: token('user_id').notNull(),
    projectId: token('project_id').notNull(),
    /** As in MigrationView; null: it holds nothing, or its cell did not say. */
    held: json('held'),
    createdAt: time('created_at').notNull(),
    updatedAt: time('updated_at').notNull(),
  },
  (t) => [
    uniqueIndex('server_migrations_uuid').on(t.uuid),
    index('server_migrations_server').on(t.serverId),
    index('server_migrations_source').on(t.sourceHost),
    index('server_migrations_dest').on(t.destHost),
    index('server_migrations_created').on(t.createdAt, t.id),
  ],
)

/** A repeated POST with the same key gets the first one's servers; `fingerprint` hashes body, user and microversion. */
export const idempotencyKeys = mysqlTable(
  'idempotency_keys',
  {
    projectId: token('project_id').notNull(),
    keyHash: token('key_hash').notNull(),
    fingerprint: token('fingerprint').notNull(),
    result: json('result').notNull(),
    createdAt: time('created_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.projectId, t.keyHash] }),
    index('idempotency_keys_created').on(t.createdAt),
  ],
)
