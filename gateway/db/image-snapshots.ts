import { and, desc, eq, inArray, isNull, type SQL, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { sqlStatement } from '#common/db/statement.ts'
import type { Task } from '#common/states/instance-states.ts'
import { COPY_OF_MOVE, isPartOfMove } from './parts-of-moves.ts'
import { images } from './schema/image.ts'
import { requestSpecs, serverIndex } from './schema/servers.ts'

/**
 * The purpose of an image that is made from a server, or from a volume (`volume`). `shelve`: the image of a shelved server,
 * deleted when the server is unshelved. `move`: that of a server on its way to another cell, deleted when it runs there.
 * `move-copy`: that of a server that still runs, and is to go to another cell; deleted when its move has ended and no image
 * has changes of it.
 * `volume-move`: that of a volume on its way to another cell, deleted when the move has ended.
 * `backup-part`: the changes that the image of a backup was made with; deleted when no cell needs them any more.
 */
export type SnapshotPurpose =
  | 'image'
  | 'backup'
  | 'shelve'
  | 'move'
  | 'move-copy'
  | 'volume'
  | 'volume-move'
  | 'backup-part'

export interface SnapshotMark {
  /** The server or volume. */
  readonly sourceId: string
  readonly purpose: SnapshotPurpose
  /** How many backups of the server and type are kept; null: all images are. */
  readonly backupsKept: number | null
  /** The image since which the host is to save what has changed, if it knows that; absent: the whole disk. */
  readonly changesOf?: string
}

/** Afterwards the image is known to be made from the server or volume. */
export async function markSnapshot(tx: Tx, imageId: string, mark: SnapshotMark): Promise<void> {
  const { sourceId, purpose, backupsKept, changesOf = null } = mark
  await tx.orm
    .update(images)
    .set({ snapshotOf: sourceId, snapshotFor: purpose, backupsKept, changesOf })
    .where(eq(images.id, imageId))
}

/** The id of the image that the server is shelved in, or with `move` is kept in without a cell; undefined while it is in none. */
export async function shelvedImage(
  db: Executor,
  serverId: string,
  purpose: 'shelve' | 'move' = 'shelve',
): Promise<string | undefined> {
  const [row] = await db.orm
    .select({ id: images.id })
    .from(images)
    .where(and(eq(images.snapshotOf, serverId), eq(images.snapshotFor, purpose)))
    .orderBy(desc(images.createdAt))
    .limit(1)
  return row?.id
}

/** Afterwards the image has the formats of what its host has saved, and is of the changes of that other image, or of a whole disk. */
export async function formatSnapshot(
  db: Executor,
  imageId: string,
  formats: {
    readonly diskFormat: string
    readonly containerFormat: string
    readonly changesOf: string | null
  },
): Promise<void> {
  await db.orm.update(images).set(formats).where(eq(images.id, imageId))
}

/** What became of a full image. */
export interface FilledSnapshot {
  /** How many backups like it are to be kept; null: all. */
  readonly kept: number | null
  /** A server is shelved or moved in it: it stays the server's, and is no backup. */
  readonly isPartOfAct: boolean
}

const PARTS_OF_ACTS: readonly SnapshotPurpose[] = ['shelve', 'move', 'move-copy']

/** True for the image that a server is shelved or moved in, or is to be. */
export async function isPartOfAct(db: Executor, imageId: string): Promise<boolean> {
  const rows = await db.orm
    .select({ id: images.id })
    .from(images)
    .where(and(eq(images.id, imageId), inArray(images.snapshotFor, [...PARTS_OF_ACTS])))
  return rows.length > 0
}

/** Frees a full image of its server or volume, unless that is shelved in it. */
export async function freeSnapshot(db: Executor, imageId: string): Promise<FilledSnapshot> {
  const [row] = await db.orm
    .select({ purpose: images.snapshotFor, kept: images.backupsKept })
    .from(images)
    .where(eq(images.id, imageId))
  const isPartOfAct = PARTS_OF_ACTS.includes(row?.purpose as SnapshotPurpose)
  const isFree = and(
    eq(images.id, imageId),
    inArray(images.snapshotFor, ['image', 'backup', 'volume']),
  )
  if (!isPartOfAct)
    await db.orm.update(images).set({ snapshotOf: null, snapshotFor: null }).where(isFree)
  return { kept: row?.kept ?? null, isPartOfAct }
}

/** By server: the newest full snapshot or backup of it that its own project and the gateways' store have, and that was made since it was last rebuilt. Reads no more images than it has to. */
export async function newestSnapshots(
  db: Executor,
  servers: readonly { readonly id: string; readonly projectId: string }[],
): Promise<ReadonlyMap<string, string>> {
  if (servers.length === 0) return new Map()
  const { serverId, projectId } = serverIndex
  const rebuiltAt = sql`json_value(${requestSpecs.spec}, '$.rebuiltAt')`
  const newest = db.orm
    .select({ id: images.id })
    .from(images)
    .where(
      and(
        eq(images.instanceUuid, serverId),
        eq(images.owner, projectId),
        eq(images.status, 'active'),
        isNull(images.hostId),
        sql`not ${isPartOfMove}`,
        inArray(property('instance_uuid'), [serverId]),
        inArray(property('image_type'), ['snapshot', 'backup']),
        sql`(${rebuiltAt} is null or ${images.createdAt} >= from_unixtime(${rebuiltAt} / 1000))`,
      ),
    )
    .orderBy(desc(images.instanceUuid), desc(images.createdAt), desc(images.id))
    .limit(1)
  const rows = await db.orm
    .select({ serverId, imageId: sql<string | null>`(${newest})` })
    .from(serverIndex)
    .leftJoin(requestSpecs, eq(requestSpecs.serverId, serverId))
    .where(inArray(serverId, [...new Set(servers.map(({ id }) => id))]))
  return new Map(
    rows.flatMap(({ serverId: id, imageId }) => (imageId === null ? [] : [[id, imageId] as const])),
  )
}

/** A property of the image, as SQL. */
function property(name: string): SQL<string> {
  return sql<string>`json_value(${images.properties}, ${`$.${name}`})`
}

/** No more are removed at once; the next backup removes further ones. */
const SURPLUS_MAX = 1_000

/** Ids of the active backups like this one beyond the newest `kept`, oldest last. Reads the images of its server alone. */
export async function surplusBackups(
  db: Executor,
  imageId: string,
  kept: number,
): Promise<readonly string[]> {
  const [own] = await db.orm
    .select({
      ...{ owner: images.owner, instanceUuid: images.instanceUuid },
      ...{ server: property('instance_uuid'), type: property('backup_type') },
    })
    .from(images)
    .where(eq(images.id, imageId))
  if (own?.instanceUuid == null) return []
  const rows = await db.orm
    .select({ id: images.id })
    .from(images)
    .where(
      and(
        eq(images.instanceUuid, own.instanceUuid),
        eq(images.owner, own.owner),
        eq(images.status, 'active'),
        eq(images.isProtected, false),
        sql`${property('image_type')} = 'backup'`,
        sql`${property('instance_uuid')} = ${own.server}`,
        sql`${property('backup_type')} = ${own.type}`,
      ),
    )
    .orderBy(desc(images.createdAt), desc(images.id))
    .limit(SURPLUS_MAX)
    .offset(kept)
  return rows.map(({ id }) => id)
}

/** While a server has one of these tasks, it is being saved. */
const SAVING: readonly Task[] = [
  'image_snapshot_pending',
  'image_snapshot',
  'image_pending_upload',
  'image_uploading',
  'image_backup',
  'shelving',
  'shelving_image_pending_upload',
  'shelving_image_uploading',
]

/** Afterwards the image that the server is shelved in, if it is, is kept until the server runs in another cell. */
export async function keepForMove(tx: Tx, serverId: string): Promise<void> {
  await tx.orm
    .update(images)
    .set({ snapshotFor: 'move' })
    .where(and(eq(images.snapshotOf, serverId), eq(images.snapshotFor, 'shelve')))
}

const COPY = sql.raw(`'${COPY_OF_MOVE}'`)

/**
 * Images without content whose server is not, or is no longer, being saved in them; and images of servers that are no
 * longer shelved, or have changed cells; and copies of disks of servers whose moves have ended, unless an image has changes of
 * them; and changes of backups that are gone, and of those that no other cell is to keep as the newest; and those whose volume is not being uploaded to them, or not moved any more. Images
 * of a server or volume that a saga holds are skipped: the saga has not reported yet.
 */
const UNNEEDED = sqlStatement(sql`
  select i.id from images i
  left join server_index s on s.server_id = i.snapshot_of and s.deleted_at is null
  left join instance_mappings m on m.server_id = i.snapshot_of
  left join volumes v on v.id = i.snapshot_of
  left join images b on b.id = i.snapshot_of
  where i.snapshot_of is not null
    and (i.status <> 'active' or i.snapshot_for in ('shelve', 'move', ${COPY}, 'volume-move', 'backup-part'))
    and case when i.snapshot_for = 'backup-part' then
      b.id is null or (b.status in ('active', 'deactivated') and (i.status <> 'active'
        or not exists (select 1 from server_protections p
          where p.last_image_id = b.id and p.to_cell_id is not null)))
    when i.snapshot_for = ${COPY} then
      not exists (select 1 from images d where d.changes_of = i.id)
      and not exists (select 1 from server_moves w join operations o on o.id = w.operation_id
        where w.copy_image_id = i.id and o.state = 'running')
    when i.snapshot_for in ('volume', 'volume-move') then
      v.id is null or (v.saga_id is null and v.status <> 'uploading')
    else s.server_id is null or m.server_id is null or (
      m.saga_id is null and m.is_deleting = false
      and (i.snapshot_for <> 'shelve' or s.vm_state not in (${listed(['shelved', 'shelved_offloaded'])}))
      and (i.snapshot_for <> 'move' or s.vm_state not in (${listed(['building', 'error'])}))
      and (s.task_state is null or s.task_state not in (${listed(SAVING)})))
    end
  limit ${sql.placeholder('max')}`)

/** At most `max` images that are needed no more. */
export async function unneededSnapshots(db: Executor, max: number): Promise<readonly string[]> {
  const rows = await db.rows<{ id: string }>(UNNEEDED, { max: BigInt(max) })
  return rows.map(({ id }) => id)
}

function listed(values: readonly string[]): SQL {
  return sql.join(
    values.map((value) => sql`${value}`),
    sql`, `,
  )
}
