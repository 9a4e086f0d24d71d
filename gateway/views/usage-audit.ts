import type { UsageAudit } from '../app/usage/audit-log.ts'

/** An audit that no host has run. */
export function usageAuditView({ from, to, hosts }: UsageAudit) {
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
