import type { operations } from '#openapi/compute.gen.ts'
import { refuseUnknownProject } from '../../../app/identity/refuse-unknown-project.ts'
import { defaultLimits } from '../../../app/quotas/quota-limits.ts'
import type { Handler } from '../../../http/operation.ts'

export const showQuotaSetDefaults: Handler<operations['showQuotaSetDefaults']> = async (call) => {
  const { app, context, params } = call
  await refuseUnknownProject(app.db, context, params.project_id)
  const limits = await defaultLimits(app.db)
  return { body: { quota_set: { id: params.project_id, ...limits } } }
}
