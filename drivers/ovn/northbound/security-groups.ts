import ipaddr from 'ipaddr.js'
import type { WireRule, WireSecurityGroup } from '#openapi/wire/network.ts'
import { METADATA_ADDRESS, METADATA_ADDRESS_V6 } from './metadata-addresses.ts'
import { isFiltered, isGroupMember, isIpv6, type NetworkIndex } from './network-index.ts'
import { externalIds, type Reference, refersTo, type WantedRow } from './rows.ts'

/** The group of every filtered port, which drops traffic that no rule allows. */
const DROP_GROUP = 'neutron_pg_drop'
const DROP_PRIORITY = 1001
const ALLOW_PRIORITY = 1002
/** IANA's numbers. */
const ICMP = 1
const ICMP_V6 = 58
const WITH_PORTS: Readonly<Record<number, string>> = { 6: 'tcp', 17: 'udp', 132: 'sctp' }

interface Acl {
  readonly direction: 'from-lport' | 'to-lport'
  readonly priority: number
  readonly match: string
  readonly action: 'allow' | 'allow-related' | 'drop'
}

/** Security groups and the group of all filtered ports, with their rules. */
export function securityGroupRows(index: NetworkIndex): readonly WantedRow[] {
  const ports = [...index.ports.values()]
  const filtered = ports.filter(isFiltered)
  const members = new Map<string, Reference[]>()
  for (const { id, securityGroupIds } of ports.filter(isGroupMember))
    for (const group of securityGroupIds)
      members.set(group, [...(members.get(group) ?? []), { table: 'Logical_Switch_Port', id }])
  const groupIds = new Set(index.state.securityGroups.map(({ id }) => id))
  const all = filtered.map(({ id }): Reference => ({ table: 'Logical_Switch_Port', id }))
  return [
    ...dropGroup(all),
    ...index.state.securityGroups.flatMap((group) =>
      groupRows(group, members.get(group.id) ?? [], groupIds),
    ),
  ]
}

function groupRows(
  group: WireSecurityGroup,
  members: readonly Reference[],
  groupIds: ReadonlySet<string>,
): readonly WantedRow[] {
  const { id, revision, rules } = group
  const name = portGroupName(id)
  const acls = rules.flatMap((rule) => {
    // A group that no longer exists has no members.
    const isEmpty = rule.remoteGroupId !== null && !groupIds.has(rule.remoteGroupId)
    const match = isEmpty ? undefined : matchOf(rule, name)
    if (match === undefined) return []
    const direction = rule.direction === 'ingress' ? 'to-lport' : 'from-lport'
    const acl = { direction, priority: ALLOW_PRIORITY, match, action: 'allow-related' } as const
    return [aclRow(rule.id, acl, { security_group_rule_id: rule.id })]
  })
  const ids = externalIds(id, { security_group_id: id, revision_number: revision })
  return [portGroupRow(id, name, members, acls, ids), ...acls]
}

/** Port groups are named in expressions, where `-` is not allowed in names. */
export function portGroupName(groupId: string): string {
  return `pg_${groupId.replaceAll('-', '_')}`
}

/** Undefined for a rule that matches nothing, because its addresses are of the other version. */
function matchOf(rule: WireRule, group: string): string | undefined {
  const isIngress = rule.direction === 'ingress'
  const ip = rule.version === 4 ? 'ip4' : 'ip6'
  const far = `${ip}.${isIngress ? 'src' : 'dst'}`
  const { remoteCidr, remoteGroupId } = rule
  if (remoteCidr !== null && isIpv6(remoteCidr) !== (rule.version === 6)) return undefined
  return [
    `${isIngress ? 'outport' : 'inport'} == @${group}`,
    ip,
    ...(remoteCidr === null || isEverything(remoteCidr) ? [] : [`${far} == ${remoteCidr}`]),
    ...(remoteGroupId === null ? [] : [`${far} == $${portGroupName(remoteGroupId)}_${ip}`]),
    ...protocolMatch(rule),
  ].join(' && ')
}

function isEverything(cidr: string): boolean {
  return ipaddr.parseCIDR(cidr)[1] === 0
}

function protocolMatch(rule: WireRule): readonly string[] {
  const { protocol, portMin, portMax, version } = rule
  if (protocol === null) return []
  // Neutron accepts ICMP's number of either version for that of the rule.
  if (protocol === ICMP || (protocol === ICMP_V6 && version === 6)) {
    const icmp = `icmp${version}`
    return [
      icmp,
      ...(portMin === null ? [] : [`${icmp}.type == ${portMin}`]),
      ...(portMin === null || portMax === null ? [] : [`${icmp}.code == ${portMax}`]),
    ]
  }
  const name = WITH_PORTS[protocol]
  if (name === undefined) return [`ip.proto == ${protocol}`]
  const port = `${name}.dst`
  if (portMin !== null && portMin === portMax) return [name, `${port} == ${portMin}`]
  return [
    name,
    ...(portMin === null ? [] : [`${port} >= ${portMin}`]),
    ...(portMax === null ? [] : [`${port} <= ${portMax}`]),
  ]
}

/** A guest whose groups allow nothing still gets its addresses and its metadata. */
function dropGroup(members: readonly Reference[]): readonly WantedRow[] {
  const [from, to] = [`inport == @${DROP_GROUP}`, `outport == @${DROP_GROUP}`]
  const acl = (direction: Acl['direction'], action: Acl['action'], match: string) => {
    const priority = action === 'drop' ? DROP_PRIORITY : ALLOW_PRIORITY
    return { direction, priority, match, action }
  }
  const acls: Readonly<Record<string, Acl>> = {
    drop_from: acl('from-lport', 'drop', `${from} && ip`),
    drop_to: acl('to-lport', 'drop', `${to} && ip`),
    dhcp: acl('from-lport', 'allow', `${from} && ip4 && udp.src == 68 && udp.dst == 67`),
    dhcp_v6: acl('from-lport', 'allow', `${from} && ip6 && udp.src == 546 && udp.dst == 547`),
    metadata: acl(
      'from-lport',
      'allow-related',
      `${from} && ip4.dst == ${METADATA_ADDRESS} && tcp.dst == 80`,
    ),
    metadata_v6: acl(
      'from-lport',
      'allow-related',
      `${from} && ip6.dst == ${METADATA_ADDRESS_V6} && tcp.dst == 80`,
    ),
  }
  const rows = Object.entries(acls).map(([id, each]) => aclRow(`${DROP_GROUP}_${id}`, each, {}))
  return [portGroupRow(DROP_GROUP, DROP_GROUP, members, rows, externalIds(DROP_GROUP, {})), ...rows]
}

function portGroupRow(
  id: string,
  name: string,
  ports: readonly Reference[],
  acls: readonly WantedRow[],
  external_ids: Readonly<Record<string, string>>,
): WantedRow {
  const columns = { name, ports: refersTo(...ports), acls: refersTo(...acls), external_ids }
  return { table: 'Port_Group', id, columns }
}

function aclRow(id: string, acl: Acl, ids: Readonly<Record<string, string>>): WantedRow {
  return { table: 'ACL', id, columns: { ...acl, external_ids: externalIds(id, ids) } }
}
