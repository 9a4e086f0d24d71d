import type { FilterSettings, HostFilter } from '../filter.ts'
import type { HostState } from '../host-state.ts'

/** Refuses hosts that do not report a metric that hosts are weighed by. */
export const metricsFilter: HostFilter = {
  name: 'MetricsFilter',
  runs: 'named',
  refuse: (host, _request, settings) => {
    const missing = unmeasured(host, settings)
    return missing === undefined ? undefined : `does not report the metric ${missing}`
  },
}

/** The first metric that hosts are weighed by and that this one does not report; undefined: it reports all. */
export function unmeasured(
  host: Pick<HostState, 'metrics'>,
  { metrics }: FilterSettings,
): string | undefined {
  return metrics.find((name) => !Object.hasOwn(host.metrics, name))
}
