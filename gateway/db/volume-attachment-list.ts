import { and, eq, exists, type SQL } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { builder } from '#common/db/statement.ts'
import { type Collection, type ResourcePage, readPage } from './resource-page.ts'
import { volumeAttachments, volumes } from './schema/volumes.ts'
import { attachmentOf, type VolumeAttachment } from './volume-attachments.ts'

const COLLECTION: Collection = {
  table: volumeAttachments,
  id: volumeAttachments.id,
  attributes: {
    id: volumeAttachments.id,
    volume_id: volumeAttachments.volumeId,
    instance_id: volumeAttachments.serverId,
    status: volumeAttachments.state,
    created_at: volumeAttachments.createdAt,
  },
}

/** A page of the attachments of a project's volumes; of all projects where that is null. Throws `invalid` for what cannot be sorted by. */
export function listAttachmentRows(
  db: Executor,
  projectId: string | null,
  page: ResourcePage,
): Promise<readonly VolumeAttachment[]> {
  return readPage(db, COLLECTION, ofProject(projectId), page, async ({ where, orderBy, limit }) => {
    const rows = await db.orm
      .select()
      .from(volumeAttachments)
      .where(where)
      .orderBy(...orderBy)
      .limit(limit)
    return rows.map(attachmentOf)
  })
}

/** The attachment, of a volume of the project; of any where that is null. Undefined when there is none. */
export async function findAttachmentById(
  db: Executor,
  projectId: string | null,
  id: string,
): Promise<VolumeAttachment | undefined> {
  const [row] = await db.orm
    .select()
    .from(volumeAttachments)
    .where(and(eq(volumeAttachments.id, id), ofProject(projectId)))
  return row && attachmentOf(row)
}

function ofProject(projectId: string | null): SQL | undefined {
  if (projectId === null) return undefined
  const volume = builder
    .select({ id: volumes.id })
    .from(volumes)
    .where(and(eq(volumes.id, volumeAttachments.volumeId), eq(volumes.projectId, projectId)))
  return exists(volume)
}
