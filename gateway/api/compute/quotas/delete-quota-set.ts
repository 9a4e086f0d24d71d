import type { operations } from '#openapi/compute.gen.ts'
import { refusePerUserQuota } from '../../../app/quotas/quota-project.ts'
import { resetQuota } from '../../../app/quotas/reset-quota.ts'
import type { Handler } from '../../../http/operation.ts'

export const deleteQuotaSet: Handler<operations['deleteQuotaSet']> = async (call) => {
  const { app, context, params, query } = call
  refusePerUserQuota(query.user_id)
  await resetQuota(app.db, context, params.project_id)
  return {}
}
