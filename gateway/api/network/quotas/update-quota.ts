import type { operations } from '#openapi/network.gen.ts'
import { updateQuotas } from '../../../app/networks/quotas.ts'
import type { Handler } from '../../../http/operation.ts'
import { quotaView } from '../../../views/network/quota.ts'

/** PUT /v2.0/quotas/{project_id} */
export const updateQuota: Handler<operations['updateQuota']> = async (call) => {
  const { app, context, params, body } = call
  const quotas = await updateQuotas(app.networks, context, params.project_id, body.quota)
  return { body: { quota: quotaView(quotas) } }
}
