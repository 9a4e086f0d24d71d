import type { operations } from '#openapi/network.gen.ts'
import { listQuotas as listAll } from '../../../app/networks/quotas.ts'
import type { Handler } from '../../../http/operation.ts'
import { projectQuotaView } from '../../../views/network/quota.ts'

/** GET /v2.0/quotas */
export const listQuotas: Handler<operations['listQuotas']> = async (call) => {
  const quotas = await listAll(call.app.networks)
  return { body: { quotas: quotas.map(projectQuotaView) } }
}
