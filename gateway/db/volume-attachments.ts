import { and, asc, eq, inArray, type Placeholder, sql } from 'drizzle-orm'
import type { MySqlColumn } from 'drizzle-orm/mysql-core'
import type { Executor, Tx } from '#common/db/database.ts'
import { builder, sqlStatement, statement } from '#common/db/statement.ts'
import { columnsOf, tableLookup } from '#common/db/table-lookup.ts'
import type { AttachmentId, InstanceId, VolumeId } from '#common/ids.ts'
import { rowsOfIds, SLICE_OF_IDS, sliceOfIds } from './keyset.ts'
import { serverIndex } from './schema/servers.ts'
import { volumeAttachments } from './schema/volumes.ts'

export type AttachmentState = 'attaching' | 'attached' | 'detaching'

/** A volume that a server has, or is being given or relieved of. */
export interface VolumeAttachment {
  readonly id: AttachmentId
  readonly volumeId: VolumeId
  readonly serverId: InstanceId
  readonly state: AttachmentState
  /** Null until the host has said. */
  readonly device: string | null
  readonly tag: string | null
  readonly deletesVolume: boolean
  /** The server starts from it. */
  readonly isRoot: boolean
  readonly createdAt: Date
}

type Row = typeof volumeAttachments.$inferSelect

const p = sql.placeholder

const INSERT = sqlStatement(sql`
  insert into volume_attachments
    (id, volume_id, server_id, state, device, tag, deletes_volume, is_root, created_at)
  select ${p('id')}, ${p('volumeId')}, ${p('serverId')}, 'attaching', ${p('device')}, ${p('tag')},
    ${p('deletesVolume')}, ${p('isRoot')}, now(3)
  from dual where not exists (
    select 1 from volume_attachments held
    where held.volume_id = ${p('volumeId')} and held.server_id = ${p('serverId')})`)
const isThis = eq(volumeAttachments.id, p('id'))
const DETACHING = statement(
  builder
    .update(volumeAttachments)
    .set({ state: 'detaching' })
    .where(
      and(
        isThis,
        eq(volumeAttachments.volumeId, p('volumeId')),
        eq(volumeAttachments.state, 'attached'),
      ),
    ),
)
const SWAPPED = statement(
  builder
    .update(volumeAttachments)
    .set({ state: 'attached', volumeId: sql`${p('volumeId')}` })
    .where(isThis),
)
const ATTACHED = statement(
  builder.update(volumeAttachments).set({ state: 'attached' }).where(isThis),
)
const ATTACHED_AS = statement(
  builder
    .update(volumeAttachments)
    .set({ state: 'attached', device: sql`${p('device')}` })
    .where(isThis),
)
const REMOVE = statement(builder.delete(volumeAttachments).where(isThis))
const ofServer = eq(serverIndex.serverId, p('serverId'))
/** Before the attachments are read, so that of two transactions the later one reads what the other has written. */
const LOCK_SERVER = statement(
  builder.update(serverIndex).set({ updatedAt: sql`now(3)` }).where(ofServer),
)
/** As `AttachedVolume`. An inner limit keeps the order, which an aggregate has in no other way that all databases know. */
const SHOW_SERVER = sqlStatement(sql`
  update server_index set volumes = (
    select json_arrayagg(json_merge_patch(
      json_object('id', held.volume_id, 'deletesVolume', json_extract(if(held.deletes_volume, 'true', 'false'), '$')),
      if(held.is_root, '{"isRoot":true}', '{}')))
    from (
      select volume_id, deletes_volume, is_root from volume_attachments
      where server_id = ${p('serverId')} order by created_at, id limit 10000) held)
  where server_id = ${p('serverId')}`)

type NewAttachment = Omit<VolumeAttachment, 'state' | 'createdAt'>

/** Adds an attachment in the state `attaching`; where the server has the volume, the transaction fails with `otherwise`. */
export function queueAttachment(tx: Tx, added: NewAttachment, otherwise: () => Error): void {
  tx.queue(INSERT, { ...added }, { rows: 1, otherwise })
}

const BY_SERVER = tableLookup(volumeAttachments, 'serverId')

/** The attachment of a volume to a server; undefined when there is none. */
export async function findAttachment(
  db: Executor,
  { serverId, volumeId }: { readonly serverId: string; readonly volumeId: string },
): Promise<VolumeAttachment | undefined> {
  const held = await BY_SERVER.all(db, serverId)
  const row = held.find((each) => each.volumeId === volumeId)
  return row && attachmentOf(row)
}

/** The attachments of some servers, the oldest first of each. */
export const attachmentsOfServers = attachmentsOf(volumeAttachments.serverId)

/** The attachments of some volumes, the oldest first of each. */
export const attachmentsOfVolumes = attachmentsOf(volumeAttachments.volumeId)

/** By statements that are built once: most ask for those of one server or volume, and lists for those of many. */
function attachmentsOf(column: MySqlColumn) {
  const { selected, read } = columnsOf(volumeAttachments)
  const { createdAt, id: byId } = volumeAttachments
  const having = (ids: readonly Placeholder[]) => {
    const found = builder
      .select(selected)
      .from(volumeAttachments)
      .where(inArray(column, [...ids]))
    return statement(found.orderBy(asc(createdAt), asc(byId)))
  }
  const ofOne = having([p('id')])
  const ofMany = having(SLICE_OF_IDS)
  const rowsOf = (db: Executor, ids: readonly string[]) =>
    ids.length === 1 ? db.rows<Row>(ofOne, { id: ids[0] }) : db.rows<Row>(ofMany, sliceOfIds(ids))
  return (db: Executor, ids: readonly string[]): Promise<readonly VolumeAttachment[]> =>
    rowsOfIds(ids, async (slice) => {
      return (await rowsOf(db, slice)).map((row) => attachmentOf(read(row)))
    })
}

/** The host has given the volume to the guest, as this device if it said so. */
export function queueAttached(tx: Tx, id: AttachmentId, device?: string | null): void {
  if (device === undefined) tx.queue(ATTACHED, { id })
  else tx.queue(ATTACHED_AS, { id, device })
}

/** The host is to take the volume away; where the server does not have it by this attachment, the transaction fails with `otherwise`. */
export function queueDetaching(
  tx: Tx,
  { id, volumeId }: Pick<VolumeAttachment, 'id' | 'volumeId'>,
  otherwise: () => Error,
): void {
  tx.queue(DETACHING, { id, volumeId }, { rows: 1, otherwise })
}

/** The guest has this volume by the attachment from now on, which is otherwise as it was. */
export function queueSwapped(
  tx: Tx,
  { id, volumeId }: Pick<VolumeAttachment, 'id' | 'volumeId'>,
): void {
  tx.queue(SWAPPED, { id, volumeId })
}

/** Afterwards there is no such attachment. */
export function queueRemoveAttachment(tx: Tx, id: AttachmentId): void {
  tx.queue(REMOVE, { id })
}

/** Afterwards the volume goes with the server, or stays. */
export async function updateDeletesVolume(
  tx: Tx,
  id: AttachmentId,
  deletesVolume: boolean,
): Promise<void> {
  await tx.orm.update(volumeAttachments).set({ deletesVolume }).where(eq(volumeAttachments.id, id))
}

/** Afterwards the server's view names the volumes that it has now. */
export function queueServerVolumes(tx: Tx, serverId: string): void {
  tx.queue(LOCK_SERVER, { serverId })
  tx.queue(SHOW_SERVER, { serverId })
}

/** The attachment that a row describes. */
export function attachmentOf(row: Row): VolumeAttachment {
  return {
    ...row,
    id: row.id as AttachmentId,
    volumeId: row.volumeId as VolumeId,
    serverId: row.serverId as InstanceId,
    state: row.state as AttachmentState,
  }
}
