import type { operations } from '#openapi/compute.gen.ts'
import { enforce } from '../../../app/policy.ts'
import { quotaLimits } from '../../../app/quotas/quota-limits.ts'
import { quotaUsage } from '../../../app/quotas/quota-usage.ts'
import type { Handler } from '../../../http/operation.ts'
import { absoluteLimitsView } from '../../../views/quota.ts'

export const showLimits: Handler<operations['showLimits']> = async (call) => {
  const { app, context, query } = call
  const projectId = query.tenant_id ?? context.projectId ?? ''
  if (projectId !== context.projectId) enforce(context, 'os_compute_api:limits:other_project')
  const limits = await quotaLimits(app.db, projectId)
  const usage = await quotaUsage(app.db, projectId)
  return { body: { limits: { rate: [], absolute: absoluteLimitsView(limits, usage) } } }
}
