import { and, eq, getTableColumns, inArray, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { lockRows } from '#common/db/lock-rows.ts'
import { Lookup } from '#common/db/lookup.ts'
import { builder, statement } from '#common/db/statement.ts'
import type { ImageStatus, ImageVisibility } from '#common/states/image-states.ts'
import type { Image, ImageContent, ImageFields } from './image.ts'
import { COPY_OF_MOVE } from './parts-of-moves.ts'
import { imageMembers, images, imageTags } from './schema/image.ts'
import { StaleRevision } from './stale-revision.ts'

type Row = typeof images.$inferSelect

/** Columns under the names of `Row`, which a prepared statement would not give them. */
const COLUMNS = Object.fromEntries(
  Object.entries(getTableColumns(images)).map(([name, column]) => [name, sql`${column}`.as(name)]),
)

/** With its tags in one round trip: every boot looks for its image. */
const IMAGES = new Lookup<Row & { readonly tags: string | null }>(
  (ids) =>
    builder
      .select({
        ...COLUMNS,
        tags: sql`(select cast(json_arrayagg(${imageTags.tag} order by ${imageTags.tag}) as char)
          from ${imageTags} where ${imageTags.imageId} = ${images.id})`.as('tags'),
      })
      .from(images)
      .where(inArray(images.id, [...ids])),
  ({ id }) => id,
)

/** The image, or undefined when there is none. Says nothing about who may see it. */
export async function findImage(db: Executor, id: string): Promise<Image | undefined> {
  const row = await IMAGES.one(db, id)
  return row === undefined ? undefined : toImage(row, JSON.parse(row.tags ?? '[]') as string[])
}

/** Afterwards the image exists, `queued`, at revision 1. */
export async function insertImage(
  tx: Tx,
  image: { readonly id: string; readonly fields: ImageFields; readonly now: Date },
): Promise<void> {
  const { id, fields, now } = image
  const { tags, ...columns } = fields
  await tx.orm
    .insert(images)
    .values({ id, ...columns, status: 'queued', createdAt: now, updatedAt: now, revision: 1 })
  await insertTags(tx, id, tags)
}

/** Afterwards the fields are as given; throws `conflict` when the image changed since `revision` was read. */
export async function updateImage(
  tx: Tx,
  image: Pick<Image, 'id' | 'revision'>,
  fields: ImageFields,
  now: Date,
): Promise<void> {
  const { tags, ...columns } = fields
  const [result] = await tx.orm
    .update(images)
    .set({ ...columns, updatedAt: now, revision: sql`${images.revision} + 1` })
    .where(and(eq(images.id, image.id), eq(images.revision, image.revision)))
  if (result.affectedRows !== 1) throw new StaleRevision(`Image ${image.id}`)
  await tx.orm.delete(imageTags).where(eq(imageTags.imageId, image.id))
  await insertTags(tx, image.id, tags)
}

/** Moves the image from one status to another; false when it is not in the first. */
export async function changeImageStatus(
  db: Executor,
  change: {
    readonly id: string
    readonly from: ImageStatus
    readonly to: ImageStatus
    readonly now: Date
  },
): Promise<boolean> {
  const [result] = await db.orm
    .update(images)
    .set({ status: change.to, updatedAt: change.now, revision: sql`${images.revision} + 1` })
    .where(and(eq(images.id, change.id), eq(images.status, change.from)))
  return result.affectedRows === 1
}

const DELETE_TAGS = statement(
  builder.delete(imageTags).where(eq(imageTags.imageId, sql.placeholder('id'))),
)
const DELETE_MEMBERS = statement(
  builder.delete(imageMembers).where(eq(imageMembers.imageId, sql.placeholder('id'))),
)

/** Afterwards no image has this id; throws `conflict` when it changed since `revision` was read. */
export async function deleteImageRow(tx: Tx, image: Pick<Image, 'id' | 'revision'>): Promise<void> {
  const [result] = await tx.orm
    .delete(images)
    .where(and(eq(images.id, image.id), eq(images.revision, image.revision)))
  if (result.affectedRows !== 1) throw new StaleRevision(`Image ${image.id}`)
  tx.queue(DELETE_TAGS, { id: image.id })
  tx.queue(DELETE_MEMBERS, { id: image.id })
}

/** Locks the image's row until the transaction ends; false when there is no such image. */
export async function holdImage(tx: Tx, id: string): Promise<boolean> {
  return (await lockRows(tx, images, eq(images.id, id))) === 1
}

/** Rows with their tags, in the order given. */
export async function imagesOfRows(
  db: Executor,
  rows: readonly (typeof images.$inferSelect)[],
): Promise<readonly Image[]> {
  if (rows.length === 0) return []
  const ids = rows.map((row) => row.id)
  const tags = await db.orm.select().from(imageTags).where(inArray(imageTags.imageId, ids))
  const byImage = Map.groupBy(tags, (tag) => tag.imageId)
  return rows.map((row) =>
    toImage(
      row,
      byImage
        .get(row.id)
        ?.map((tag) => tag.tag)
        .sort() ?? [],
    ),
  )
}

async function insertTags(tx: Tx, imageId: string, tags: readonly string[]): Promise<void> {
  if (tags.length > 0) await tx.orm.insert(imageTags).values(tags.map((tag) => ({ imageId, tag })))
}

function toImage(row: Row, tags: readonly string[]): Image {
  return {
    id: row.id,
    name: row.name,
    status: row.status as ImageStatus,
    visibility: row.visibility as ImageVisibility,
    owner: row.owner,
    diskFormat: row.diskFormat,
    containerFormat: row.containerFormat,
    minDiskGb: row.minDiskGb,
    minRamMb: row.minRamMb,
    // 0 and 1 where a prepared statement read them.
    isProtected: Boolean(row.isProtected),
    isHidden: Boolean(row.isHidden),
    properties: row.properties,
    tags,
    content: isUsable(row.status) ? contentOf(row) : null,
    staged: isUsable(row.status) ? null : contentOf(row),
    changesOf: row.changesOf,
    isPartOfMove: row.changesOf !== null || row.snapshotFor === COPY_OF_MOVE,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    revision: row.revision,
  }
}

function isUsable(status: string): boolean {
  return status === 'active' || status === 'deactivated'
}

function contentOf(row: Row): ImageContent | null {
  const { sizeBytes, virtualSizeBytes, md5, sha256, sha512, hostId } = row
  if (sha256 === null || sha512 === null || md5 === null) return null
  if (sizeBytes === null || virtualSizeBytes === null) return null
  const content = { sizeBytes, virtualSizeBytes, md5, sha256, sha512 }
  return hostId === null ? content : { ...content, hostId }
}
