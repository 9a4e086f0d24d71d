import { Failure } from '#common/errors.ts'
import { findAttachmentById, listAttachmentRows } from '../../db/volume-attachment-list.ts'
import type { VolumeAttachment } from '../../db/volume-attachments.ts'
import type { ComputeDeps } from '../compute.ts'
import type { RequestContext } from '../request-context.ts'
import { type PageQuery, type ProjectsPage, pageOf } from './list-query.ts'

type Sight = Pick<RequestContext, 'projectId' | 'isAdmin'>

/** The parameters of a list, as Cinder names them. */
export interface AttachmentListQuery extends Omit<PageQuery, 'metadata'> {
  readonly project_id?: string
  readonly volume_id?: string
  readonly instance_id?: string
  readonly status?: string
}

const SORT_KEYS = ['created_at', 'id', 'instance_id', 'status', 'volume_id'] as const

/** What a list asks for. Throws as `pageOf`. */
export function attachmentQuery(query: AttachmentListQuery, limit: number): ProjectsPage {
  const { volume_id, instance_id, status } = query
  return pageOf(query, { limit, sortKeys: SORT_KEYS, equal: { volume_id, instance_id, status } })
}

/** A page of the attachments of the requester's volumes, or of those of all projects, or of one that is named. */
export function listAttachments(
  { db }: Pick<ComputeDeps, 'db'>,
  { projectId, isAdmin }: Sight,
  { allTenants, ...page }: ProjectsPage,
  ofProject: string | undefined,
): Promise<readonly VolumeAttachment[]> {
  const owner = allTenants && isAdmin ? (ofProject ?? null) : (projectId ?? '')
  return listAttachmentRows(db, owner, page)
}

/** The attachment. Throws `not-found` when there is none that the requester may see. */
export async function showVolumeAttachment(
  { db }: Pick<ComputeDeps, 'db'>,
  { projectId, isAdmin }: Sight,
  id: string,
): Promise<VolumeAttachment> {
  const owner = isAdmin ? null : (projectId ?? '')
  const attachment = await findAttachmentById(db, owner, id.toLowerCase())
  if (attachment !== undefined) return attachment
  throw new Failure('not-found', `Volume attachment could not be found with filter: id = ${id}.`)
}
