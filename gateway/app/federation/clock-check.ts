import type { HealthCheck } from '#openapi/wire/health.ts'

/** Half a second is what a heartbeat may take on its way; two are more than leases allow for. */
const OFF_MS = { degraded: 500, failed: 2_000 } as const

/** Says whether a clock is that of another, given by how many milliseconds it is ahead. */
export function clockCheck(name: string, aheadMs: number, whose: string): HealthCheck {
  const offMs = Math.abs(aheadMs)
  const status =
    offMs > OFF_MS.failed ? 'failed' : offMs > OFF_MS.degraded ? 'degraded' : ('ok' as const)
  const way = aheadMs < 0 ? 'behind' : 'ahead of'
  return {
    kind: 'clock',
    name,
    status,
    reason:
      status === 'ok' ? `agrees with ${whose}` : `${(offMs / 1_000).toFixed(1)} s ${way} ${whose}`,
  }
}
