import type { operations } from '#openapi/compute.gen.ts'
import { usageAudit } from '../../../app/usage/audit-log.ts'
import type { Handler } from '../../../http/operation.ts'
import { usageAuditView } from '../../../views/usage-audit.ts'

export const showUsageAudit: Handler<operations['showUsageAudit']> = async ({ app, params }) => {
  const audit = await usageAudit(app.compute, params.before)
  return { body: { instance_usage_audit_log: usageAuditView(audit) } }
}
