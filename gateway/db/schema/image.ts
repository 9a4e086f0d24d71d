import {
  bigint,
  boolean,
  index,
  int,
  json,
  mysqlTable,
  primaryKey,
  varchar,
} from 'drizzle-orm/mysql-core'
import { text255, time, token, uuid } from '#common/db/columns.ts'

/** A row is an image a user can see; deleting the image deletes the row. */
export const images = mysqlTable(
  'images',
  {
    id: uuid('id').primaryKey(),
    name: text255('name'),
    status: token('status', 16).notNull(),
    visibility: token('visibility', 16).notNull(),
    owner: token('owner').notNull(),
    diskFormat: token('disk_format', 20),
    containerFormat: token('container_format', 20),
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
    /** Whoever fills the image now; only this upload may finish it. */
    uploadId: uuid('upload_id'),
    /** Renewed by the upload; past it the upload is dead and another may begin. */
    uploadExpiresAt: time('upload_expires_at'),
    createdAt: time('created_at').notNull(),
    updatedAt: time('updated_at').notNull(),
    revision: int('revision').notNull(),
  },
  (t) => [
    index('images_by_owner').on(t.owner, t.createdAt),
    index('images_by_visibility').on(t.visibility, t.createdAt),
    index('images_by_name').on(t.name),
    index('images_by_upload').on(t.uploadExpiresAt),
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

/** One row per stored content, counted by the images that have it; its row lock guards the file. */
export const imageContents = mysqlTable(
  'image_contents',
  {
    sha256: token('sha256', 64).primaryKey(),
    imageCount: int('image_count').notNull(),
  },
  (t) => [index('image_contents_by_count').on(t.imageCount)],
)
