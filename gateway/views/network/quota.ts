import type { NetworkResource, ProjectQuotas, QuotaState } from '../../app/networks/quotas.ts'

type Quotas = Readonly<Record<NetworkResource, QuotaState>>

/** Limits alone. */
export function quotaView(quotas: Quotas) {
  return {
    network: quotas.network.limit,
    subnet: quotas.subnet.limit,
    port: quotas.port.limit,
    rbac_policy: quotas.rbac_policy.limit,
    security_group: quotas.security_group.limit,
    security_group_rule: quotas.security_group_rule.limit,
  }
}

export function projectQuotaView({ projectId, quotas }: ProjectQuotas) {
  return { project_id: projectId, tenant_id: projectId, ...quotaView(quotas) }
}

/** Limits and use; nothing is ever reserved, as use rises in the transaction that makes the object. */
export function quotaDetailsView(quotas: Quotas) {
  return {
    network: detailsOf(quotas.network),
    subnet: detailsOf(quotas.subnet),
    port: detailsOf(quotas.port),
    rbac_policy: detailsOf(quotas.rbac_policy),
    security_group: detailsOf(quotas.security_group),
    security_group_rule: detailsOf(quotas.security_group_rule),
  }
}

function detailsOf({ limit, used }: QuotaState) {
  return { limit, used, reserved: 0 }
}
