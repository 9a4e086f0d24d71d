import type { SecurityGroup } from '../../db/network.ts'
import { listSecurityGroups as readGroups } from '../../db/security-groups.ts'
import type { Requester } from '../requester.ts'
import { ensureDefaultGroup } from './default-group.ts'
import type { Networks } from './list-networks.ts'
import { DESCRIBED_FILTERS, type Listed, type ListQuery, listed, pageOf } from './list-query.ts'
import { scopeOf } from './visible.ts'

/** A page of the groups the requester may see; his project's default group exists from then on. */
export async function listSecurityGroups(
  networks: Networks,
  requester: Requester,
  query: ListQuery,
): Promise<Listed<SecurityGroup>> {
  const page = pageOf(query, DESCRIBED_FILTERS)
  if (requester.projectId !== null) await ensureDefaultGroup(networks, requester.projectId)
  return listed(await readGroups(networks.db, scopeOf(requester), page), page)
}
