import type { operations } from '#openapi/compute.gen.ts'
import { quotaClassLimits } from '../../../app/quotas/quota-limits.ts'
import type { Handler } from '../../../http/operation.ts'

export const showQuotaClassSet: Handler<operations['showQuotaClassSet']> = async (call) => {
  const { app, params } = call
  const limits = await quotaClassLimits(app.db, params.quota_class)
  return { body: { quota_class_set: { id: params.quota_class, ...limits } } }
}
