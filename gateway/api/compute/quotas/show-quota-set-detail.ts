import type { operations } from '#openapi/compute.gen.ts'
import { limitsShown } from '../../../app/quotas/quota-limits.ts'
import { checkQuotaProject } from '../../../app/quotas/quota-project.ts'
import { quotaUsage } from '../../../app/quotas/quota-usage.ts'
import type { Handler } from '../../../http/operation.ts'
import { quotaDetailView } from '../../../views/quota.ts'

export const showQuotaSetDetail: Handler<operations['showQuotaSetDetail']> = async (call) => {
  const { app, context, params, query } = call
  await checkQuotaProject(app.db, context, params.project_id)
  const limits = await limitsShown(app.db, params.project_id, query.user_id)
  const usage = await quotaUsage(app.db, params.project_id, query.user_id)
  return { body: { quota_set: quotaDetailView(params.project_id, limits, usage) } }
}
