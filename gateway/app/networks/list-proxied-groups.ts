import type { Requester } from '../requester.ts'
import { listSecurityGroups } from './list-security-groups.ts'
import type { Networks } from './networks.ts'
import { type ProxiedGroups, withRemotes } from './proxied-groups.ts'
import { projectOf } from './visible.ts'

interface Query {
  readonly limit?: number
  readonly offset?: number
  /** Any text, as Nova takes it. */
  readonly all_tenants?: string
}

/** The groups of the requester's project by name; those of all projects for an administrator who asks. */
export async function listProxiedGroups(
  networks: Networks,
  requester: Requester,
  { limit, offset = 0, all_tenants }: Query,
): Promise<ProxiedGroups> {
  const isForAll = requester.isAdmin && all_tenants !== undefined
  const page = await listSecurityGroups(networks, requester, [
    ...(isForAll ? [] : ([['project_id', projectOf(requester)]] as const)),
    ['sort_key', 'project_id'],
    ['sort_key', 'name'],
  ])
  const end = limit === undefined ? undefined : offset + limit
  return withRemotes(networks.db, page.items.slice(offset, end))
}
