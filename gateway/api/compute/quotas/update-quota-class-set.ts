import type { operations } from '#openapi/compute.gen.ts'
import { updateQuotaClass } from '../../../app/quotas/update-quota-class.ts'
import type { Handler } from '../../../http/operation.ts'

export const updateQuotaClassSet: Handler<operations['updateQuotaClassSet']> = async (call) => {
  const { app, params, body } = call
  const limits = await updateQuotaClass(app.db, params.quota_class, body.quota_class_set)
  return { body: { quota_class_set: limits } }
}
