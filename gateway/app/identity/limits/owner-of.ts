import { Failure } from '#common/errors.ts'
import type { LimitOwner } from './limit.ts'

/** The owner of a limit. Throws `invalid` unless the limit is for a project or for a domain, and not for both. */
export function ownerOf(projectId: string | null, domainId: string | null): LimitOwner {
  if (projectId !== null && domainId === null) return { type: 'project', id: projectId }
  if (domainId !== null && projectId === null) return { type: 'domain', id: domainId }
  throw new Failure('invalid', 'A limit is of either a project_id or a domain_id.')
}
