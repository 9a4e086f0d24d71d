import type { operations } from '#openapi/compute.gen.ts'
import { type UsageAudit, usageAudit } from '../../app/usage/audit-log.ts'
import { checkUsageProject, listUsage, type UsagePage } from '../../app/usage/list-usage.ts'
import type { ServerUsage } from '../../app/usage/server-usage.ts'
import type { Handler } from '../../http/operation.ts'
import { pageLimit } from '../../http/pagination.ts'
import { plainTime } from '../../views/time.ts'
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

/** An audit that no host has run. */
function usageAuditView({ from, to, hosts }: UsageAudit) {
  const done = hosts.length === 0 ? 'ALL' : `0 of ${hosts.length}`
  return {
    period_beginning: pythonTime(from),
    period_ending: pythonTime(to),
    num_hosts: hosts.length,
    num_hosts_done: 0,
    num_hosts_running: 0,
    num_hosts_not_run: hosts.length,
    hosts_not_run: hosts,
    total_instances: 0,
    total_errors: 0,
    overall_status: `${done} hosts done. 0 errors.`,
    log: {},
  }
}

/** As Nova writes these two: `2026-11-01 00:00:00`. */
function pythonTime(at: Date): string {
  return at.toISOString().slice(0, 19).replace('T', ' ')
}

/** The usage of each project of a page, with that of its servers where asked for. */
function usageViews({ period, servers }: UsagePage, isDetailed: boolean) {
  const byProject = [...Map.groupBy(servers, ({ projectId }) => projectId)]
  return byProject.map(([projectId, own]) => {
    const sum = (of: (server: ServerUsage) => number) =>
      own.reduce((total, server) => total + of(server) * server.hours, 0)
    return {
      tenant_id: projectId,
      start: plainTime(period.from),
      stop: plainTime(period.to),
      total_hours: sum(() => 1),
      total_vcpus_usage: sum(({ flavor }) => flavor.vcpus),
      total_memory_mb_usage: sum(({ flavor }) => flavor.memoryMb),
      total_local_gb_usage: sum(({ diskGb }) => diskGb),
      ...(isDetailed && { server_usages: own.map(serverUsageView) }),
    }
  })
}

function serverUsageView(usage: ServerUsage) {
  const { id, projectId, name, flavor, startedAt, endedAt, vmState, hours, uptime } = usage
  return {
    instance_id: id,
    tenant_id: projectId,
    name,
    flavor: flavor.name,
    vcpus: flavor.vcpus,
    memory_mb: flavor.memoryMb,
    local_gb: usage.diskGb,
    started_at: plainTime(startedAt),
    ended_at: endedAt === null ? null : plainTime(endedAt),
    state: endedAt === null ? vmState : 'terminated',
    hours,
    uptime,
  }
}
