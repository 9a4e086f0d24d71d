import type { operations } from '#openapi/compute.gen.ts'
import { usageAudit } from '../../../app/usage/audit-log.ts'
import type { Handler } from '../../../http/operation.ts'
import { usageAuditView } from '../../../views/usage-audit.ts'

export const listUsageAudits: Handler<operations['listUsageAudits']> = async ({ app }) => {
  const audit = await usageAudit(app.compute)
  return { body: { instance_usage_audit_logs: usageAuditView(audit) } }
}
