import type { operations } from '#openapi/network.gen.ts'
import {
  listQuotas as listAll,
  resetQuotas,
  showDefaultQuotas,
  showQuotas,
  updateQuotas,
} from '../../app/networks/quotas.ts'
import type { Handler } from '../../http/operation.ts'
import { projectQuotaView, quotaDetailsView, quotaView } from '../../views/network/quota.ts'

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
