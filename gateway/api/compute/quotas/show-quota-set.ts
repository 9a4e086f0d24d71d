import type { operations } from '#openapi/compute.gen.ts'
import { limitsShown } from '../../../app/quotas/quota-limits.ts'
import { checkQuotaProject } from '../../../app/quotas/quota-project.ts'
import type { Handler } from '../../../http/operation.ts'

export const showQuotaSet: Handler<operations['showQuotaSet']> = async (call) => {
  const { app, context, params, query } = call
  await checkQuotaProject(app.db, context, params.project_id)
  const limits = await limitsShown(app.db, params.project_id, query.user_id)
  return { body: { quota_set: { id: params.project_id, ...limits } } }
}
