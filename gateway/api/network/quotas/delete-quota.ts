import type { operations } from '#openapi/network.gen.ts'
import { resetQuotas } from '../../../app/networks/quotas.ts'
import type { Handler } from '../../../http/operation.ts'

/** DELETE /v2.0/quotas/{project_id} */
export const deleteQuota: Handler<operations['deleteQuota']> = async (call) => {
  const { app, params } = call
  await resetQuotas(app.networks, params.project_id)
  return {}
}
