import { Failure } from '#common/errors.ts'
import type { ServerCondition } from '../../../db/server-conditions.ts'
import { enforce } from '../../policy.ts'
import type { RequestContext } from '../../request-context.ts'
import type { ServerListQuery } from './list-query.ts'

const ALL_TENANTS = {
  index: 'os_compute_api:servers:index:get_all_tenants',
  detail: 'os_compute_api:servers:detail:get_all_tenants',
} as const

/** Whose servers are listed: a project's, a user's where the token is for no project, or everybody's. */
export interface ListScope {
  readonly projectId: string | undefined
  readonly conditions: readonly ServerCondition[]
}

/**
 * Only `all_tenants` looks beyond the caller's project; without it the id of a project asks for nothing, as in Nova
 * (`_get_servers` in nova/api/openstack/compute/servers.py). Throws `forbidden`.
 */
export function listScope(
  context: RequestContext,
  query: ServerListQuery,
  rule: keyof typeof ALL_TENANTS,
): ListScope {
  if (query.all_tenants !== true) return ownScope(context)
  enforce(context, ALL_TENANTS[rule])
  const asked = query.tenant_id ?? query.project_id
  if (asked === undefined) return { projectId: undefined, conditions: [] }
  return ofProject(asked)
}

function ownScope({ projectId, userId }: RequestContext): ListScope {
  if (projectId !== null) return ofProject(projectId)
  return { projectId: undefined, conditions: [{ is: 'equal', field: 'user', anyOf: [userId] }] }
}

function ofProject(projectId: string): ListScope {
  return { projectId, conditions: [{ is: 'equal', field: 'project', anyOf: [projectId] }] }
}

/** Throws `forbidden`: only administrators see deleted servers. */
export function refuseDeleted(context: RequestContext): void {
  if (!context.isAdmin)
    throw new Failure('forbidden', 'Only administrators may list deleted instances')
}
