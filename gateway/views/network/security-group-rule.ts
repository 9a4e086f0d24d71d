import { networkOf } from '../../app/networks/ip.ts'
import type { SecurityGroupRule } from '../../db/network.ts'
import { zonedTime } from '../time.ts'

/** A rule; rules never change, so both times are one. */
export function ruleView(rule: SecurityGroupRule) {
  const createdAt = zonedTime(rule.createdAt)
  return {
    id: rule.id,
    security_group_id: rule.groupId,
    project_id: rule.projectId,
    tenant_id: rule.projectId,
    description: rule.description,
    direction: rule.direction,
    ethertype: rule.etherType,
    protocol: rule.protocol,
    port_range_min: rule.portMin,
    port_range_max: rule.portMax,
    remote_ip_prefix: rule.remoteCidr,
    normalized_cidr:
      rule.remoteCidr === null ? null : networkOf(rule.remoteCidr, 'remote_ip_prefix'),
    remote_group_id: rule.remoteGroupId,
    tags: [],
    created_at: createdAt,
    updated_at: createdAt,
    revision_number: 0,
  }
}
