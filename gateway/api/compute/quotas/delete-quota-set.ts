import type { operations } from '#openapi/compute.gen.ts'
import { resetQuota } from '../../../app/quotas/reset-quota.ts'
import type { Handler } from '../../../http/operation.ts'

export const deleteQuotaSet: Handler<operations['deleteQuotaSet']> = async (call) => {
  const { app, params, query } = call
  await resetQuota(app.db, params.project_id, query.user_id)
  return {}
}
