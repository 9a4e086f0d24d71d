/**
 * By Nova's names (nova/objects/fields.py: `MonitorMetricType`): `cpu.frequency` in MHz, `cpu.user.time` and the like in
 * nanoseconds since the machine started, `cpu.percent` and the like from 0 to 100.
 */
export type Metrics = Readonly<Record<string, number>>

export const METRIC_NAMES: readonly string[] = [
  'cpu.frequency',
  'cpu.user.time',
  'cpu.kernel.time',
  'cpu.idle.time',
  'cpu.iowait.time',
  'cpu.user.percent',
  'cpu.kernel.percent',
  'cpu.idle.percent',
  'cpu.iowait.percent',
  'cpu.percent',
]

/** Measures how busy the host's machine is. */
export interface HostMetrics {
  /**
   * The machine's metrics, of all that runs there. Percentages are of the time since the last call, so the first call has
   * none. Throws `unavailable` while the backend is down.
   */
  read(signal: AbortSignal): Promise<Metrics>
}
