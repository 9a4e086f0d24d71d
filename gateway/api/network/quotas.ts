import type { operations } from '#openapi/network.gen.ts'
import {
  listQuotas as listAll,
  type NetworkResource,
  type ProjectQuotas,
  type QuotaState,
  resetQuotas,
  showDefaultQuotas,
  showQuotas,
  updateQuotas,
} from '../../app/networks/quotas.ts'
import type { Handler } from '../../http/operation.ts'

/** DELETE /v2.0/quotas/{project_id} */
export const deleteQuota: Handler<operations['deleteQuota']> = async (call) => {
  const { app, params } = call
  await resetQuotas(app.networks, params.project_id)
  return {}
}

/** GET /v2.0/quotas */
export const listQuotas: Handler<operations['listQuotas']> = async (call) => {
  const quotas = await listAll(call.app.networks)
  return { body: { quotas: quotas.map(projectQuotaView) } }
}

/** GET /v2.0/quotas/{project_id}/default */
export const showDefaultQuota: Handler<operations['showDefaultQuota']> = async (call) => {
  const { context, params } = call
  return { body: { quota: quotaView(showDefaultQuotas(context, params.project_id)) } }
}

/** GET /v2.0/quotas/{project_id}/details */
export const showQuotaDetails: Handler<operations['showQuotaDetails']> = async (call) => {
  const { app, context, params } = call
  const quotas = await showQuotas(app.networks, context, params.project_id)
  return { body: { quota: quotaDetailsView(quotas) } }
}

/** GET /v2.0/quotas/{project_id} */
export const showQuota: Handler<operations['showQuota']> = async (call) => {
  const { app, context, params } = call
  return { body: { quota: quotaView(await showQuotas(app.networks, context, params.project_id)) } }
}

/** PUT /v2.0/quotas/{project_id} */
export const updateQuota: Handler<operations['updateQuota']> = async (call) => {
  const { app, context, params, body } = call
  const quotas = await updateQuotas(app.networks, context, params.project_id, body.quota)
  return { body: { quota: quotaView(quotas) } }
}

type Quotas = Readonly<Record<NetworkResource, QuotaState>>

/** Limits alone. */
function quotaView(quotas: Quotas) {
  return {
    floatingip: quotas.floatingip.limit,
    network: quotas.network.limit,
    subnet: quotas.subnet.limit,
    subnetpool: quotas.subnetpool.limit,
    port: quotas.port.limit,
    rbac_policy: quotas.rbac_policy.limit,
    router: quotas.router.limit,
    security_group: quotas.security_group.limit,
    security_group_rule: quotas.security_group_rule.limit,
  }
}

function projectQuotaView({ projectId, quotas }: ProjectQuotas) {
  return { project_id: projectId, tenant_id: projectId, ...quotaView(quotas) }
}

/** Limits and use; nothing is ever reserved, as use rises in the transaction that makes the object. */
function quotaDetailsView(quotas: Quotas) {
  return {
    floatingip: detailsOf(quotas.floatingip),
    network: detailsOf(quotas.network),
    subnet: detailsOf(quotas.subnet),
    subnetpool: detailsOf(quotas.subnetpool),
    port: detailsOf(quotas.port),
    rbac_policy: detailsOf(quotas.rbac_policy),
    router: detailsOf(quotas.router),
    security_group: detailsOf(quotas.security_group),
    security_group_rule: detailsOf(quotas.security_group_rule),
  }
}

function detailsOf({ limit, used }: QuotaState) {
  return { limit, used, reserved: 0 }
}
