import { Failure } from '#common/errors.ts'
import type { SecurityGroupRule } from '../../db/network.ts'
import type { Requester } from '../requester.ts'
import type { Networks } from './networks.ts'
import { asComputeSays, type ProxiedGroups, showProxiedGroup } from './proxied-groups.ts'
import { createSecurityGroupRule } from './security-group-rules.ts'
import { ownSecurityGroup } from './visible.ts'

/** A rule as the Compute API takes it: for what comes in. */
export interface ProxiedRuleDraft {
  readonly groupId: string
  readonly remoteGroupId: string | null
  readonly cidr: string | null
  readonly protocol: string | null
  /** -1 stands for none. */
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
