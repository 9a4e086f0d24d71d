import { and, asc, eq, inArray, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import type { AttachmentId, InstanceId, VolumeId } from '#common/ids.ts'
import type { AttachedVolume } from '../app/servers/list/server-record.ts'
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

/** Adds an attachment in the state `attaching`; throws a duplicate-key error when the server has the volume. */
export async function insertAttachment(
  tx: Tx,
  {
    id,
    volumeId,
    serverId,
    device,
    tag,
    deletesVolume,
    isRoot,
  }: Omit<VolumeAttachment, 'state' | 'createdAt'>,
): Promise<void> {
  await tx.orm.insert(volumeAttachments).values({
    ...{ id, volumeId, serverId, device, tag, deletesVolume, isRoot },
    state: 'attaching',
    createdAt: sql`now(3)`,
  })
}

/** The attachment of a volume to a server; undefined when there is none. */
export async function findAttachment(
  db: Executor,
  { serverId, volumeId }: { readonly serverId: string; readonly volumeId: string },
): Promise<VolumeAttachment | undefined> {
  const isPair = and(
    eq(volumeAttachments.serverId, serverId),
    eq(volumeAttachments.volumeId, volumeId),
  )
  const [row] = await db.orm.select().from(volumeAttachments).where(isPair)
  return row && attachmentOf(row)
}

/** The attachments of some servers, the oldest first. */
export async function attachmentsOfServers(
  db: Executor,
  serverIds: readonly string[],
): Promise<readonly VolumeAttachment[]> {
  if (serverIds.length === 0) return []
  return rowsWhere(db, inArray(volumeAttachments.serverId, [...serverIds]))
}

/** The attachments of some volumes, the oldest first. */
export async function attachmentsOfVolumes(
  db: Executor,
  volumeIds: readonly string[],
): Promise<readonly VolumeAttachment[]> {
  if (volumeIds.length === 0) return []
  return rowsWhere(db, inArray(volumeAttachments.volumeId, [...volumeIds]))
}

/** Afterwards the attachment is in this state, with the device if one is given. False when it is gone. */
export async function updateAttachment(
  tx: Tx,
  id: AttachmentId,
  change: Partial<Pick<VolumeAttachment, 'state' | 'device' | 'deletesVolume'>>,
): Promise<boolean> {
  const [result] = await tx.orm
    .update(volumeAttachments)
    .set(change)
    .where(eq(volumeAttachments.id, id))
  return result.affectedRows === 1
}

/** Afterwards the attachment is gone. False when it was before. */
export async function removeAttachment(tx: Tx, id: AttachmentId): Promise<boolean> {
  const [result] = await tx.orm.delete(volumeAttachments).where(eq(volumeAttachments.id, id))
  return result.affectedRows === 1
}

/** Afterwards the server's view names the volumes that it has now. */
export async function showServerVolumes(tx: Tx, serverId: string): Promise<void> {
  const attachments = await attachmentsOfServers(tx, [serverId])
  const shown: readonly AttachedVolume[] = attachments.map(
    ({ volumeId: id, deletesVolume, isRoot }) => ({ id, deletesVolume, ...(isRoot && { isRoot }) }),
  )
  await tx.orm
    .update(serverIndex)
    .set({ volumes: shown.length === 0 ? sql`null` : shown, updatedAt: sql`now(3)` })
    .where(eq(serverIndex.serverId, serverId))
}

async function rowsWhere(
  db: Executor,
  condition: ReturnType<typeof inArray>,
): Promise<readonly VolumeAttachment[]> {
  const { createdAt, id } = volumeAttachments
  const rows = await db.orm
    .select()
    .from(volumeAttachments)
    .where(condition)
    .orderBy(asc(createdAt), asc(id))
  return rows.map(attachmentOf)
}

/** The attachment that a row describes. */
export function attachmentOf(row: typeof volumeAttachments.$inferSelect): VolumeAttachment {
  return {
    ...row,
    id: row.id as AttachmentId,
    volumeId: row.volumeId as VolumeId,
    serverId: row.serverId as InstanceId,
    state: row.state as AttachmentState,
  }
}
