import type { SecurityGroup, SecurityGroupRule } from '../db/network.ts'

/** Groups that rules name, by id. */
export type RemoteGroups = ReadonlyMap<string, Pick<SecurityGroup, 'name' | 'projectId'>>

const PORT_MAX = 65_535

/** A group as the Compute API shows it: only rules for what comes in. */
export function proxiedGroupView(group: SecurityGroup, remotes: RemoteGroups) {
  return {
    id: group.id,
    name: group.name,
    description: group.description,
    tenant_id: group.projectId,
    rules: group.rules
      .filter(({ direction }) => direction === 'ingress')
      .map((rule) => proxiedRuleView(rule, remotes)),
  }
}

export function proxiedRuleView(rule: SecurityGroupRule, remotes: RemoteGroups) {
  const remote = rule.remoteGroupId === null ? undefined : remotes.get(rule.remoteGroupId)
  const anywhere = rule.etherType === 'IPv4' ? '0.0.0.0/0' : '::/0'
  return {
    id: rule.id,
    parent_group_id: rule.groupId,
    ip_protocol: rule.protocol,
    ...portsOf(rule),
    ip_range: rule.remoteGroupId === null ? { cidr: rule.remoteCidr ?? anywhere } : {},
    group: remote === undefined ? {} : { name: remote.name, tenant_id: remote.projectId },
  }
}

/** Nova's words for "all of them" depend on the protocol (nova/network/security_group_api.py). */
function portsOf({ protocol, portMin, portMax }: SecurityGroupRule) {
  if (protocol === null || portMin !== null || portMax !== null)
    return { from_port: portMin, to_port: portMax }
  const hasPorts = protocol === 'tcp' || protocol === 'udp'
  return hasPorts ? { from_port: 1, to_port: PORT_MAX } : { from_port: -1, to_port: -1 }
}
