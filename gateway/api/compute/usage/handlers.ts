import { listTenantUsage } from './list-tenant-usage.ts'
import { listUsageAudits } from './list-usage-audits.ts'
import { showTenantUsage } from './show-tenant-usage.ts'
import { showUsageAudit } from './show-usage-audit.ts'

export const usageHandlers = {
  listTenantUsage,
  listUsageAudits,
  showTenantUsage,
  showUsageAudit,
}
