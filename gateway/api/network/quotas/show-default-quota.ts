import type { operations } from '#openapi/network.gen.ts'
import { showDefaultQuotas } from '../../../app/networks/quotas.ts'
import type { Handler } from '../../../http/operation.ts'
import { quotaView } from '../../../views/network/quota.ts'

/** GET /v2.0/quotas/{project_id}/default */
export const showDefaultQuota: Handler<operations['showDefaultQuota']> = async (call) => {
  const { context, params } = call
  return { body: { quota: quotaView(showDefaultQuotas(context, params.project_id)) } }
}
