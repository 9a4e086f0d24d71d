import type { QuotaUsage } from '../app/quotas/quota-usage.ts'
import { QUOTA_RESOURCES, type QuotaLimits, type QuotaResource } from '../app/quotas/resources.ts'

export interface LimitAndUse {
  readonly limit: number
  readonly in_use: number
  readonly reserved: number
}

/** Limits with the use of them. Nothing is ever reserved: use is counted when a request is accepted. */
export function quotaDetailView(projectId: string, limits: QuotaLimits, usage: QuotaUsage) {
  const entries = QUOTA_RESOURCES.map(
    (resource) =>
      [resource, { limit: limits[resource], in_use: usage[resource], reserved: 0 }] as const,
  )
  const byResource = Object.fromEntries(entries) as Record<QuotaResource, LimitAndUse>
  return { id: projectId, ...byResource }
}

/** `absolute` of the limits, at its widest. */
export function absoluteLimitsView(limits: QuotaLimits, usage: QuotaUsage) {
  return {
    maxTotalInstances: limits.instances,
    maxTotalCores: limits.cores,
    maxTotalRAMSize: limits.ram,
    maxTotalKeypairs: limits.key_pairs,
    maxServerMeta: limits.metadata_items,
    maxServerGroups: limits.server_groups,
    maxServerGroupMembers: limits.server_group_members,
    maxImageMeta: limits.metadata_items,
    maxPersonality: limits.injected_files,
    maxPersonalitySize: limits.injected_file_content_bytes,
    maxSecurityGroups: limits.security_groups,
    maxSecurityGroupRules: limits.security_group_rules,
    maxTotalFloatingIps: limits.floating_ips,
    totalInstancesUsed: usage.instances,
    totalCoresUsed: usage.cores,
    totalRAMUsed: usage.ram,
    totalServerGroupsUsed: usage.server_groups,
    totalFloatingIpsUsed: usage.floating_ips,
    totalSecurityGroupsUsed: usage.security_groups,
  }
}
