import { Failure } from '#common/errors.ts'
import type { LimitOwner } from './limit.ts'

/** Whose limit is asked for. Throws `invalid` unless it is of either a project or a domain. */
export function ownerOf(projectId: string | null, domainId: string | null): LimitOwner {
  if (projectId !== null && domainId === null) return { type: 'project', id: projectId }
  if (domainId !== null && projectId === null) return { type: 'domain', id: domainId }
  throw new Failure('invalid', 'A limit is of either a project_id or a domain_id.')
}
