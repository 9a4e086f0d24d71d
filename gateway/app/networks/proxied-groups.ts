import type { Executor } from '#common/db/database.ts'
import { Failure, isFailure } from '#common/errors.ts'
import { isUuid } from '#common/ids.ts'
import type { SecurityGroup } from '../../db/network.ts'
import { findSecurityGroups } from '../../db/security-groups.ts'
import type { Requester } from '../requester.ts'
import type { Networks } from './networks.ts'
import { ownSecurityGroup } from './visible.ts'

/** Groups, and those that their rules name, by id. */
export interface ProxiedGroups {
  readonly groups: readonly SecurityGroup[]
  readonly remotes: ReadonlyMap<string, SecurityGroup>
}

/** With what a view needs to name the groups in these groups' rules. */
export async function withRemotes(
  db: Executor,
  groups: readonly SecurityGroup[],
): Promise<ProxiedGroups> {
  const known = new Map(groups.map((group) => [group.id, group]))
  const named = groups.flatMap(({ rules }) => rules.flatMap((rule) => rule.remoteGroupId ?? []))
  const missing = [...new Set(named)].filter((id) => !known.has(id))
  for (const group of await findSecurityGroups(db, missing)) known.set(group.id, group)
  return { groups, remotes: known }
}

/** One group of the requester's; throws `not-found`, and `invalid` for a name. */
export async function showProxiedGroup(
  networks: Networks,
  requester: Requester,
  id: string,
): Promise<Pick<ProxiedGroups, 'remotes'> & { readonly group: SecurityGroup }> {
  const group = await ownSecurityGroup(networks, requester, proxiedGroupId(id))
  return { group, remotes: (await withRemotes(networks.db, [group])).remotes }
}

/** The id as it is. Throws `invalid` for text that is no id, as clients expect before they look for a group by its name. */
export function proxiedGroupId(id: string): string {
  if (!isUuid(id)) throw new Failure('invalid', 'Security group id should be uuid')
  return id
}

/** What the network service calls a conflict is a bad request to the Compute API. */
export async function asComputeSays<T>(work: Promise<T>): Promise<T> {
  return work.catch((error: unknown) => {
    if (!isFailure(error, 'conflict')) throw error
    throw new Failure('invalid', error.message, { cause: error })
  })
}
