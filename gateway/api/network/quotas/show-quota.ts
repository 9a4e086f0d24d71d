import type { operations } from '#openapi/network.gen.ts'
import { showQuotas } from '../../../app/networks/quotas.ts'
import type { Handler } from '../../../http/operation.ts'
import { quotaView } from '../../../views/network/quota.ts'

/** GET /v2.0/quotas/{project_id} */
export const showQuota: Handler<operations['showQuota']> = async (call) => {
  const { app, context, params } = call
  return { body: { quota: quotaView(await showQuotas(app.networks, context, params.project_id)) } }
}
