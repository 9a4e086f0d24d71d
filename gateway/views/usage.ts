import type { UsagePage } from '../app/usage/list-usage.ts'
import type { ServerUsage } from '../app/usage/server-usage.ts'
import { plainTime } from './time.ts'

/** The usage of each project of a page, with that of its servers where asked for. */
export function usageViews({ period, servers }: UsagePage, isDetailed: boolean) {
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
