import type { operations } from '#openapi/compute.gen.ts'
import { updateQuota } from '../../../app/quotas/update-quota.ts'
import type { Handler } from '../../../http/operation.ts'

export const updateQuotaSet: Handler<operations['updateQuotaSet']> = async (call) => {
  const { app, context, params, body, query } = call
  const { force: isForced = false, ...limits } = body.quota_set
  const change = { userId: query.user_id, limits, isForced }
  const changed = await updateQuota(app.db, context, params.project_id, change)
  return { body: { quota_set: changed } }
}
