import { Histogram, type Registry } from 'prom-client'
import { programMetrics } from '#common/metrics/program-metrics.ts'
import { countPlacement } from './placement-metrics.ts'

/** Distinct label sets kept; what comes beyond is counted with its microversion named `other`. */
const SERIES_MAX = 2_000
const BUCKETS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]

export interface Observation {
  readonly method: string
  /** The path as the document has it, never as it was called. */
  readonly route: string
  readonly status: number
  readonly microversion: string
}

/** The metrics of one gateway; each gateway in a process has its own registry. */
export interface Metrics extends Disposable {
  readonly registry: Registry
  /** `startedAt` is a `performance.now()`. */
  observe(observation: Observation, startedAt: number): void
}

/** `process`: the gateway's name. */
export function createMetrics(process: string): Metrics {
  const owned = new DisposableStack()
  const { registry } = owned.use(programMetrics({ program: 'gateway', process }))
  owned.use(countPlacement(registry))
  const duration = new Histogram({
    name: 'api_request_duration_seconds',
    help: 'Time from a request to its answer',
    labelNames: ['method', 'route', 'status', 'microversion'],
    buckets: BUCKETS_S,
    registers: [registry],
  })
  const known = new Set<string>()

  return {
    registry,
    observe: ({ method, route, status, microversion }, startedAt) => {
      const key = `${method} ${route} ${status} ${microversion}`
      const isKnown = known.has(key) || (known.size < SERIES_MAX && known.add(key).has(key))
      const version = isKnown ? microversion : 'other'
      duration.observe(
        { method, route, status, microversion: version },
        (performance.now() - startedAt) / 1000,
      )
    },
    [Symbol.dispose]: () => owned.dispose(),
  }
}
