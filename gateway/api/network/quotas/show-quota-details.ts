import type { operations } from '#openapi/network.gen.ts'
import { showQuotas } from '../../../app/networks/quotas.ts'
import type { Handler } from '../../../http/operation.ts'
import { quotaDetailsView } from '../../../views/network/quota.ts'

/** GET /v2.0/quotas/{project_id}/details */
export const showQuotaDetails: Handler<operations['showQuotaDetails']> = async (call) => {
  const { app, context, params } = call
  const quotas = await showQuotas(app.networks, context, params.project_id)
  return { body: { quota: quotaDetailsView(quotas) } }
}
