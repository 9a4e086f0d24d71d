import { boolean, index, int, json, mysqlTable, text, uniqueIndex } from 'drizzle-orm/mysql-core'
import { text255, time, token, uuid } from '#common/db/columns.ts'
import type { VolumeEncryption } from '#openapi/wire/cell-volume.ts'
import type { StoredSource } from '../../app/volumes/volume.ts'

/** A volume: what its user asked for, which cell has it, and what that cell last said. It is removed once it is gone. */
export const volumes = mysqlTable(
  'volumes',
  {
    id: uuid('id').primaryKey(),
    projectId: token('project_id').notNull(),
    userId: token('user_id').notNull(),
    name: text255('name'),
    description: text255('description'),
    metadata: json('metadata').$type<Readonly<Record<string, string>>>().notNull(),
    typeId: uuid('type_id'),
    /** The type that it gets once it is in another store, for which the quota counts it as well; null: it keeps its own. */
    nextTypeId: uuid('next_type_id'),
    /** The extra specs of its type when it was created. */
    specs: json('specs').$type<Readonly<Record<string, string>>>().notNull(),
    /** The zone that was asked for until a cell has it; null: any. */
    zone: text255('zone'),
    /** The GiB that it has, or that it is to have while it is created. */
    sizeGb: int('size_gb').notNull(),
    /** The GiB that the quota ledger was charged for it, to be refunded when its row is deleted. */
    chargedGb: int('charged_gb').notNull(),
    /** Cinder's word for what it does. */
    status: token('status', 20).notNull(),
    /** Set by a delete; every later step of its creation is conditional on its absence. */
    isDeleting: boolean('is_deleting').notNull().default(false),
    isBootable: boolean('is_bootable').notNull().default(false),
    /** How it is encrypted, as its type said when it was created; null: it is not. */
    encryption: json('encryption').$type<VolumeEncryption>(),
    isMultiattach: boolean('is_multiattach').notNull().default(false),
    /** Servers get it without the right to write; null: its user has never said. */
    isReadOnly: boolean('is_read_only'),
    /** What its content is made from; null: it begins empty. */
    source: json('source').$type<StoredSource>(),
    /** Of the image that its content was made from, as Cinder's `volume_image_metadata`; null: of none. */
    imageMetadata: json('image_metadata').$type<Readonly<Record<string, string>>>(),
    /** The same of the image that a rebuild of its server gives it, once it has the content; null: none does. */
    nextImageMetadata: json('next_image_metadata').$type<Readonly<Record<string, string>>>(),
    /** Null while no cell has it, and when none could make it. */
    cellId: uuid('cell_id'),
    attempt: int('attempt').notNull(),
    /** The highest attempt in which a cell was asked to take it over from another; 0: none was. */
    lastAttempt: int('last_attempt').notNull().default(0),
    /** Ids of the cells that refused it, which are not asked again. */
    triedCells: json('tried_cells').$type<readonly string[]>().notNull(),
    /** The version of the cell's view that is shown; 0: none yet. */
    cellVersion: int('cell_version').notNull().default(0),
    storeId: token('store_id', 255),
    storeName: text255('store_name'),
    /** Why its last change failed, for operators; null: none failed since one succeeded. */
    fault: text('fault'),
    /** The saga that is changing it now; null when none is. */
    sagaId: uuid('saga_id'),
    /** Grows with every change by users, who change what they have read. */
    revision: int('revision').notNull().default(0),
    createdAt: time('created_at').notNull(),
    updatedAt: time('updated_at'),
    /** Of the last change of intent, so that reconcilers leave fresh ones to their saga. */
    changedAt: time('changed_at').notNull(),
  },
  (t) => [
    index('volumes_project').on(t.projectId, t.createdAt),
    index('volumes_cell').on(t.cellId),
    index('volumes_type').on(t.typeId),
    index('volumes_deleting').on(t.isDeleting),
    // Null but for those that are being changed.
    index('volumes_saga').on(t.sagaId),
  ],
)

/** Which server has a volume, or is being given or relieved of it. */
export const volumeAttachments = mysqlTable(
  'volume_attachments',
  {
    id: uuid('id').primaryKey(),
    volumeId: uuid('volume_id').notNull(),
    serverId: uuid('server_id').notNull(),
    /** attaching, attached, detaching. */
    state: token('state', 16).notNull(),
    /** The name that the guest most likely gives it; null until the host has said. */
    device: token('device', 32),
    tag: text255('tag'),
    /** The volume is deleted with the server. */
    deletesVolume: boolean('deletes_volume').notNull(),
    /** The server starts from it. */
    isRoot: boolean('is_root').notNull().default(false),
    createdAt: time('created_at').notNull(),
  },
  (t) => [
    uniqueIndex('volume_attachments_pair').on(t.volumeId, t.serverId),
    index('volume_attachments_server').on(t.serverId),
  ],
)

/** A volume that its project offers to another one. It is removed once it is accepted or withdrawn. */
export const volumeTransfers = mysqlTable(
  'volume_transfers',
  {
    id: uuid('id').primaryKey(),
    volumeId: uuid('volume_id').notNull(),
    /** That offers it. */
    projectId: token('project_id').notNull(),
    name: text255('name'),
    /** Of the key that accepts it, with the id. */
    keyHash: token('key_hash').notNull(),
    /** False: the snapshots of the volume stay with the project that offers it. */
    takesSnapshots: boolean('takes_snapshots').notNull(),
    createdAt: time('created_at').notNull(),
  },
  (t) => [
    uniqueIndex('volume_transfers_volume').on(t.volumeId),
    index('volume_transfers_project').on(t.projectId, t.createdAt),
  ],
)

/** A snapshot of a volume: what its user asked for, and what its volume's cell last said. It is removed once it is gone. */
export const volumeSnapshots = mysqlTable(
  'volume_snapshots',
  {
    id: uuid('id').primaryKey(),
    projectId: token('project_id').notNull(),
    userId: token('user_id').notNull(),
    volumeId: uuid('volume_id').notNull(),
    name: text255('name'),
    description: text255('description'),
    metadata: json('metadata').$type<Readonly<Record<string, string>>>().notNull(),
    /** That of its volume, for which the quota counts it. */
    typeId: uuid('type_id'),
    /** The GiB of its volume when it was made, for which the quota ledger was charged. */
    sizeGb: int('size_gb').notNull(),
    /** Cinder's word for what it does. */
    status: token('status', 20).notNull(),
    /** Set by a delete; every later step of its creation is conditional on its absence. */
    isDeleting: boolean('is_deleting').notNull().default(false),
    /** That of its volume; null when the cell could not make it. */
    cellId: uuid('cell_id'),
    /** The version of the cell's view that is shown; 0: none yet. */
    cellVersion: int('cell_version').notNull().default(0),
    /** Why its last change failed, for operators; null: none failed. */
    fault: text('fault'),
    /** The saga that is changing it now; null when none is. */
    sagaId: uuid('saga_id'),
    /** Grows with every change by users, who change what they have read. */
    revision: int('revision').notNull().default(0),
    createdAt: time('created_at').notNull(),
    updatedAt: time('updated_at'),
    /** Of the last change of intent, so that reconcilers leave fresh ones to their saga. */
    changedAt: time('changed_at').notNull(),
  },
  (t) => [
    index('volume_snapshots_project').on(t.projectId, t.createdAt),
    index('volume_snapshots_volume').on(t.volumeId),
    index('volume_snapshots_cell').on(t.cellId),
    index('volume_snapshots_deleting').on(t.isDeleting),
    index('volume_snapshots_saga').on(t.sagaId),
  ],
)
