import type { operations } from '#openapi/federation.gen.ts'
import { type UsageReport, usageReport } from '../../app/usage/usage-report.ts'
import type { Handler } from '../../http/operation.ts'

/** GET /v1/usage */
export const showUsage: Handler<operations['showUsage']> = async ({ app, context, query }) => {
  const { db, compute, config } = app
  const report = await usageReport({ db, compute, prices: config.prices }, context, query)
  return { body: usageReportView(report) }
}

function usageReportView({ period, currency, sums }: UsageReport) {
  return {
    start: period.from.toISOString(),
    end: period.to.toISOString(),
    currency,
    usages: sums.map((sum) => ({
      project_id: sum.projectId,
      project: sum.project,
      cell_id: sum.cellId,
      cell: sum.cell,
      flavor: sum.flavor,
      servers: sum.servers,
      server_hours: sum.serverHours,
      vcpu_hours: sum.vcpuHours,
      memory_mb_hours: sum.memoryMbHours,
      disk_gb_hours: sum.diskGbHours,
      volume_gb_hours: sum.volumeGbHours,
      image_gb_hours: sum.imageGbHours,
      floating_ip_hours: sum.floatingIpHours,
      cost: currency === null ? null : sum.cost,
    })),
  }
}
