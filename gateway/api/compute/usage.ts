import type { operations } from '#openapi/compute.gen.ts'
import { usageAudit } from '../../app/usage/audit-log.ts'
import { checkUsageProject, listUsage } from '../../app/usage/list-usage.ts'
import type { Handler } from '../../http/operation.ts'
import { pageLimit } from '../../http/pagination.ts'
import { usageViews } from '../../views/usage.ts'
import { usageAuditView } from '../../views/usage-audit.ts'
import { nextPageLinks } from './page.ts'

const listTenantUsage: Handler<operations['listTenantUsage']> = async (call) => {
  const { app, query } = call
  const limit = pageLimit(query.limit)
  const page = await listUsage(app.compute, null, query, limit)
  const { length: size } = page.servers
  const last = page.servers.at(-1)?.id
  return {
    body: {
      tenant_usages: usageViews(page, query.detailed === '1'),
      ...nextPageLinks(call, 'tenant_usages_links', { size, limit, last }),
    },
  }
}

const listUsageAudits: Handler<operations['listUsageAudits']> = async ({ app }) => {
  const audit = await usageAudit(app.compute)
  return { body: { instance_usage_audit_logs: usageAuditView(audit) } }
}

const showTenantUsage: Handler<operations['showTenantUsage']> = async (call) => {
  const { app, context, params, query } = call
  checkUsageProject(context, params.project_id)
  const limit = pageLimit(query.limit)
  const page = await listUsage(app.compute, params.project_id, query, limit)
  const { length: size } = page.servers
  const last = page.servers.at(-1)?.id
  const [usage = {}] = usageViews(page, true)
  return {
    body: {
      tenant_usage: usage,
      ...nextPageLinks(call, 'tenant_usage_links', { size, limit, last }),
    },
  }
}

const showUsageAudit: Handler<operations['showUsageAudit']> = async ({ app, params }) => {
  const audit = await usageAudit(app.compute, params.before)
  return { body: { instance_usage_audit_log: usageAuditView(audit) } }
}

export const usageHandlers = {
  listTenantUsage,
  listUsageAudits,
  showTenantUsage,
  showUsageAudit,
}
