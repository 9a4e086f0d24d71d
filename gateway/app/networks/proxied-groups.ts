import type { Executor } from '#common/db/database.ts'
import { Failure, isFailure } from '#common/errors.ts'
import { isUuid } from '#common/ids.ts'
import type { SecurityGroup, SecurityGroupRule } from '../../db/network.ts'
import { findSecurityGroups } from '../../db/security-groups.ts'
import type { Requester } from '../requester.ts'
import type { Networks } from './list-networks.ts'
import { listSecurityGroups } from './list-security-groups.ts'
import { createSecurityGroupRule } from './security-group-rules.ts'
import { ownSecurityGroup, projectOf } from './visible.ts'

/** Groups, and those that their rules name, by id. */
export interface ProxiedGroups {
  readonly groups: readonly SecurityGroup[]
  readonly remotes: ReadonlyMap<string, SecurityGroup>
}

/** The groups, with the names of the groups in their rules. */
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

/** The same id. Throws `invalid` for text that is not an id, as clients expect before they look for a group by its name. */
export function proxiedGroupId(id: string): string {
  if (!isUuid(id)) throw new Failure('invalid', 'Security group id should be uuid')
  return id
}

/** A conflict of the network service is a bad request in the Compute API. */
export async function asComputeSays<T>(work: Promise<T>): Promise<T> {
  return work.catch((error: unknown) => {
    if (!isFailure(error, 'conflict')) throw error
    throw new Failure('invalid', error.message, { cause: error })
  })
}

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

/** An ingress rule in the form of the Compute API. */
interface ProxiedRuleDraft {
  readonly groupId: string
  readonly remoteGroupId: string | null
  readonly cidr: string | null
  readonly protocol: string | null
  /** -1: none. */
  readonly from: number | null
  readonly to: number | null
}

/** Afterwards the group has the rule. Throws `invalid`, also for one it has already; `not-found` for a group. */
export async function createProxiedRule(
  networks: Networks,
  requester: Requester,
  draft: ProxiedRuleDraft,
): Promise<{ readonly rule: SecurityGroupRule; readonly remotes: ProxiedGroups['remotes'] }> {
  const { groupId, remoteGroupId, protocol, from, to } = draft
  await ownSecurityGroup(networks, requester, groupId)
  if (remoteGroupId === null && protocol === null)
    throw new Failure('invalid', 'Not enough parameters to build a valid rule.')
  const cidr = remoteGroupId === null ? (draft.cidr ?? '0.0.0.0/0') : null
  const isV6 = cidr?.includes(':') === true || protocol?.toLowerCase() === 'icmpv6'
  const rule = await asComputeSays(
    createSecurityGroupRule(networks, requester, {
      security_group_id: groupId,
      direction: 'ingress',
      ethertype: isV6 ? 'IPv6' : 'IPv4',
      protocol,
      port_range_min: from === -1 ? null : from,
      port_range_max: to === -1 ? null : to,
      remote_ip_prefix: cidr,
      remote_group_id: remoteGroupId,
    }),
  )
  const { remotes } = await showProxiedGroup(networks, requester, groupId)
  return { rule, remotes }
}
