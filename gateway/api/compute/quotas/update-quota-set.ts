import type { operations } from '#openapi/compute.gen.ts'
import { refusePerUserQuota } from '../../../app/quotas/quota-project.ts'
import { updateQuota } from '../../../app/quotas/update-quota.ts'
import type { Handler } from '../../../http/operation.ts'

export const updateQuotaSet: Handler<operations['updateQuotaSet']> = async (call) => {
  const { app, context, params, body, query } = call
  refusePerUserQuota(query.user_id)
  const { force: isForced = false, ...limits } = body.quota_set
  const changed = await updateQuota(app.db, context, params.project_id, { limits, isForced })
  return { body: { quota_set: changed } }
}
