import {
  bigint,
  boolean,
  index,
  int,
  json,
  mysqlTable,
  primaryKey,
  text,
} from 'drizzle-orm/mysql-core'
import { text255, time, token, uuid } from '#common/db/columns.ts'

/** A storage engine that hosts of this cell reach, as the last of them reported it. */
export const stores = mysqlTable('stores', {
  id: token('id', 255).primaryKey(),
  name: text255('name').notNull(),
  engine: token('engine', 32).notNull(),
  totalBytes: bigint('total_bytes', { mode: 'number' }).notNull(),
  freeBytes: bigint('free_bytes', { mode: 'number' }).notNull(),
  /** The largest volume that it can take now; null: one of what is free. */
  largestVolumeBytes: bigint('largest_volume_bytes', { mode: 'number' }),
  isShared: boolean('is_shared').notNull(),
  multiattach: boolean('multiattach').notNull(),
  encrypts: boolean('encrypts').notNull().default(false),
  /** What its engine cannot do; null: nothing is known that it could not. */
  lacks: json('lacks').$type<string[]>(),
  /** The sum of the sizes of its volumes and their snapshots; a claim raises it by one conditional update. */
  promisedGb: bigint('promised_gb', { mode: 'number' }).notNull().default(0),
  /** Volumes and snapshots with the cell's stamp that the cell did not know at its last look. */
  unknownObjects: int('unknown_objects').notNull().default(0),
  updatedAt: time('updated_at').notNull(),
})

/** Which hosts reach which stores. */
export const storeHosts = mysqlTable(
  'store_hosts',
  { storeId: token('store_id', 255).notNull(), hostId: uuid('host_id').notNull() },
  (t) => [primaryKey({ columns: [t.storeId, t.hostId] }), index('store_hosts_host').on(t.hostId)],
)

/** One row per volume the cell has now: it is removed once nothing is left of the volume here. */
export const volumes = mysqlTable(
  'volumes',
  {
    volumeId: uuid('volume_id').primaryKey(),
    attempt: int('attempt').notNull(),
    /** Grows with every change within an attempt. */
    version: int('version').notNull(),
    /** The project for which it was made. Gateways know which project has it now. */
    projectId: token('project_id').notNull(),
    state: token('state', 16).notNull(),
    sizeGb: int('size_gb').notNull(),
    storeId: token('store_id', 255).notNull(),
    /** The host that made it, which is asked first. */
    hostId: uuid('host_id').notNull(),
    zone: text255('zone').notNull(),
    /** Why its last change failed; null: none failed since one succeeded. */
    fault: text('fault'),
    /** The image whose content the last rebuild of its server gave it; null: none was. */
    imageId: uuid('image_id'),
    /** The saga that is changing it; null when none is. */
    sagaId: uuid('saga_id'),
    createdAt: time('created_at').notNull(),
    updatedAt: time('updated_at').notNull(),
  },
  (t) => [index('volumes_store').on(t.storeId)],
)

/** One row per encrypted volume, which goes with it. */
export const volumeKeys = mysqlTable(
  'volume_keys',
  {
    volumeId: uuid('volume_id').primaryKey(),
    /** Opened with the cell's secrets key. */
    sealed: text('sealed').notNull(),
    /** The server that was last given the volume, whose host gets the key with each act; null: none. */
    serverId: uuid('server_id'),
    createdAt: time('created_at').notNull(),
  },
  (t) => [index('volume_keys_server').on(t.serverId)],
)

/**
 * The content of a volume in a store other than its own: being made there, or left there once the volume has moved. The store
 * counts its size. It is removed once nothing is left there.
 */
export const volumeCopies = mysqlTable(
  'volume_copies',
  {
    volumeId: uuid('volume_id').notNull(),
    storeId: token('store_id', 255).notNull(),
    sizeGb: int('size_gb').notNull(),
    createdAt: time('created_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.volumeId, t.storeId] }),
    index('volume_copies_store').on(t.storeId),
  ],
)

/** The answer of the cell to each attempt of a volume, so that a repeated request gets the same. */
export const volumeAttempts = mysqlTable(
  'volume_attempts',
  {
    volumeId: uuid('volume_id').notNull(),
    attempt: int('attempt').notNull(),
    /** accepted, refused, deleted. */
    outcome: token('outcome', 16).notNull(),
    reason: text('reason'),
    createdAt: time('created_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.volumeId, t.attempt] }),
    index('volume_attempts_created').on(t.createdAt),
  ],
)

/** One row per snapshot of a volume that the cell has now: it is removed once nothing is left of the snapshot here. */
export const volumeSnapshots = mysqlTable(
  'volume_snapshots',
  {
    snapshotId: uuid('snapshot_id').primaryKey(),
    volumeId: uuid('volume_id').notNull(),
    /** Grows with every change. */
    version: int('version').notNull(),
    state: token('state', 16).notNull(),
    /** That of the volume when it was made, which the store has promised. */
    sizeGb: int('size_gb').notNull(),
    storeId: token('store_id', 255).notNull(),
    /** The host that made it, which is asked first. */
    hostId: uuid('host_id').notNull(),
    /** Why its last change failed; null: none failed. */
    fault: text('fault'),
    /** The saga that is changing it; null when none is. */
    sagaId: uuid('saga_id'),
    createdAt: time('created_at').notNull(),
    updatedAt: time('updated_at').notNull(),
  },
  (t) => [index('volume_snapshots_volume').on(t.volumeId)],
)

/** The answer of the cell to each request for a snapshot, so that a repeated request gets the same. */
export const volumeSnapshotAnswers = mysqlTable(
  'volume_snapshot_answers',
  {
    snapshotId: uuid('snapshot_id').primaryKey(),
    /** accepted, refused, deleted. */
    outcome: token('outcome', 16).notNull(),
    reason: text('reason'),
    createdAt: time('created_at').notNull(),
  },
  (t) => [index('volume_snapshot_answers_created').on(t.createdAt)],
)
