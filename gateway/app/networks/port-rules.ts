import ipaddr from 'ipaddr.js'
import type { FilterRule } from '#openapi/wire/firewall.ts'
import type { Port, SecurityGroupRule } from '../../db/network.ts'
import { networkOf } from './ip.ts'
import { filteredProtocol } from './rule-of.ts'

/** The rules of the groups of ports, read once for many ports. */
export interface GroupRules {
  /** By group. */
  readonly rules: ReadonlyMap<string, readonly SecurityGroupRule[]>
  /** Addresses of the members of groups that rules name. */
  readonly members: ReadonlyMap<string, readonly string[]>
}

/** The permitted traffic of the port, besides replies; null, everything, without port security. */
export function portRules(
  port: Pick<Port, 'hasPortSecurity' | 'securityGroupIds'>,
  { rules, members }: GroupRules,
): FilterRule[] | null {
  if (!port.hasPortSecurity) return null
  return port.securityGroupIds
    .toSorted()
    .flatMap((id) => rules.get(id) ?? [])
    .map((rule) => filterRule(rule, members))
}

function filterRule(rule: SecurityGroupRule, members: GroupRules['members']): FilterRule {
  const version = rule.etherType === 'IPv4' ? 4 : 6
  const { direction, portMin, portMax } = rule
  const protocol = rule.protocol === null ? null : filteredProtocol(rule.protocol, rule.etherType)
  return {
    direction,
    version,
    protocol,
    portMin,
    portMax,
    remotes: remotesOf(rule, version, members),
    groupId: rule.groupId,
    ...(rule.remoteGroupId !== null && { remoteGroupId: rule.remoteGroupId }),
  }
}

function remotesOf(
  { remoteCidr, remoteGroupId }: SecurityGroupRule,
  version: 4 | 6,
  members: GroupRules['members'],
): string[] | null {
  if (remoteCidr !== null) return [networkOf(remoteCidr, 'remote_ip_prefix')]
  if (remoteGroupId === null) return null
  const Family = version === 4 ? ipaddr.IPv4 : ipaddr.IPv6
  const bits = version === 4 ? 32 : 128
  return (members.get(remoteGroupId) ?? [])
    .filter((address) => Family.isValid(address))
    .map((address) => `${address}/${bits}`)
}
