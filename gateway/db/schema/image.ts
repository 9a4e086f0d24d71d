import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  index,
  int,
  json,
  mysqlTable,
  primaryKey,
  text,
  varchar,
} from 'drizzle-orm/mysql-core'
import { lockVersion, text255, time, token, uuid } from '#common/db/columns.ts'

/** A row is an image a user can see; deleting the image deletes the row. */
export const images = mysqlTable(
  'images',
  {
    id: uuid('id').primaryKey(),
    lockVersion: lockVersion(),
    name: text255('name'),
    status: token('status', 16).notNull(),
    visibility: token('visibility', 16).notNull(),
    owner: token('owner').notNull(),
    diskFormat: token('disk_format', 20),
    containerFormat: token('container_format', 20),
    /** The size of the content, or of the content that is staged. */
    sizeBytes: bigint('size', { mode: 'number' }),
    virtualSizeBytes: bigint('virtual_size', { mode: 'number' }),
    md5: token('checksum', 32),
    sha512: token('os_hash_value', 128),
    sha256: token('content_sha256', 64),
    minDiskGb: int('min_disk').notNull(),
    minRamMb: int('min_ram').notNull(),
    isProtected: boolean('protected').notNull(),
    isHidden: boolean('os_hidden').notNull(),
    properties: json('properties').$type<Readonly<Record<string, string>>>().notNull(),
    /** The server that the image names in its property of that name, by which its images are found; null: it names none. */
    instanceUuid: token('instance_uuid', 36).generatedAlwaysAs(
      sql`if(json_value(properties, '$.instance_uuid') regexp '^[0-9a-f-]{36}$', convert(json_value(properties, '$.instance_uuid') using ascii), null)`,
      { mode: 'stored' },
    ),
    /** The upload that fills the image now; only this upload may finish it. */
    uploadId: uuid('upload_id'),
    /** Renewed by the upload; past it the upload is dead and another may begin. */
    uploadExpiresAt: time('upload_expires_at'),
    /**
     * The server that the image is being made from, or that is shelved in it, or the backup of which it has the changes; null
     * once the image belongs to its owner alone.
     */
    snapshotOf: uuid('snapshot_of'),
    /** image, backup, shelve, move, move-copy, volume, volume-move or backup-part. */
    snapshotFor: token('snapshot_for', 16),
    /** The image since which the content has what a server has written; null: the content is a whole disk. */
    changesOf: uuid('changes_of'),
    /** The host that keeps the content, where gateways read it; null: their store has it. */
    hostId: uuid('content_host'),
    /** How many backups of its server and type are kept once this one is there. */
    backupsKept: int('backups_kept'),
    createdAt: time('created_at').notNull(),
    updatedAt: time('updated_at').notNull(),
    revision: int('revision').notNull(),
  },
  (t) => [
    index('images_by_server').on(t.snapshotOf),
    index('images_by_instance').on(t.instanceUuid, t.createdAt),
    index('images_by_owner').on(t.owner, t.createdAt),
    // With all that the usage of a project is counted from.
    index('images_usage').on(t.owner, t.changesOf, t.snapshotFor, t.status, t.sizeBytes),
    index('images_by_visibility').on(t.visibility, t.createdAt),
    index('images_by_name').on(t.name),
    index('images_by_upload').on(t.uploadExpiresAt),
    index('images_by_changes_of').on(t.changesOf),
  ],
)

export const imageTags = mysqlTable(
  'image_tags',
  {
    imageId: uuid('image_id').notNull(),
    tag: varchar('tag', { length: 255 }).notNull(),
  },
  (t) => [primaryKey({ columns: [t.imageId, t.tag] }), index('image_tags_by_tag').on(t.tag)],
)

/** The projects a shared image is shared with. */
export const imageMembers = mysqlTable(
  'image_members',
  {
    imageId: uuid('image_id').notNull(),
    /** A project's id, not checked for existence. */
    member: text255('member').notNull(),
    status: token('status', 16).notNull(),
    createdAt: time('created_at').notNull(),
    updatedAt: time('updated_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.imageId, t.member] }),
    index('image_members_by_member').on(t.member, t.status),
  ],
)

/** Definitions of properties that administrators made beside those of the service; the parts are lists with names. */
export const metadefNamespaces = mysqlTable('metadef_namespaces', {
  name: varchar('name', { length: 80 }).primaryKey(),
  displayName: text255('display_name'),
  description: text('description'),
  visibility: token('visibility', 8).notNull(),
  isProtected: boolean('protected').notNull(),
  owner: text255('owner').notNull(),
  resourceTypes: json('resource_types').notNull(),
  properties: json('properties').notNull(),
  objects: json('objects').notNull(),
  tags: json('tags').notNull(),
  createdAt: time('created_at').notNull(),
  updatedAt: time('updated_at').notNull(),
})

/** Imports, due and past; the holder of the lease of a running one works on it. */
export const imageTasks = mysqlTable(
  'image_tasks',
  {
    id: uuid('id').primaryKey(),
    imageId: uuid('image_id').notNull(),
    owner: token('owner').notNull(),
    userId: token('user_id'),
    requestId: token('request_id').notNull(),
    status: token('status', 16).notNull(),
    /** The import request as it came. */
    request: json('request').notNull(),
    message: text('message').notNull(),
    /** How often it was begun. */
    tries: int('tries').notNull(),
    leaseUntil: time('lease_until'),
    createdAt: time('created_at').notNull(),
    updatedAt: time('updated_at').notNull(),
    /** Of one that has ended: when it is forgotten. */
    expiresAt: time('expires_at'),
  },
  (t) => [
    index('image_tasks_by_image').on(t.imageId),
    index('image_tasks_by_status').on(t.status, t.createdAt),
    index('image_tasks_by_expiry').on(t.expiresAt),
  ],
)

/** One row per stored content, counted by the images that have it; its row lock guards the file. */
export const imageContents = mysqlTable(
  'image_contents',
  {
    sha256: token('sha256', 64).primaryKey(),
    imageCount: int('image_count').notNull(),
  },
  (t) => [index('image_contents_by_count').on(t.imageCount)],
)
