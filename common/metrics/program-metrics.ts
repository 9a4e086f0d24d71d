import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import { readRelease } from '../release.ts'
import { countWork } from './work-metrics.ts'

/** How often the event loop's lag is looked at: each look wakes the process, also one that has nothing to do. */
export const LAG_PRECISION_MS = 500

/** Of prom-client, which walks every open connection for each, five times a look. */
const COSTLY = ['handles', 'requests', 'resources'].flatMap((of) => [
  `nodejs_active_${of}`,
  `nodejs_active_${of}_total`,
])

export interface ProgramNames {
  readonly program: 'gateway' | 'cell' | 'compute'
  /** Of this process, among those of its kind. */
  readonly process: string
  /** Of every series, such as the cell's name; absent: none. */
  readonly labels?: Readonly<Record<string, string>>
}

/** The metrics of one program; several may live in one process, and each then counts the work of the whole process. */
export interface ProgramMetrics extends Disposable {
  readonly registry: Registry
}

/** Has from the start what every program has: its build, the process, and its sagas and reconcilers, statements and requests. */
export function programMetrics({ program, process, labels = {} }: ProgramNames): ProgramMetrics {
  const registry = new Registry()
  registry.setDefaultLabels({ ...labels })
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_PRECISION_MS })
  for (const name of COSTLY) registry.removeSingleMetric(name)
  new Gauge({
    name: 'weir_build_info',
    help: 'The release that this program runs, always 1',
    labelNames: ['program', 'process', 'release', 'node'],
    registers: [registry],
  }).set({ program, process, release: readRelease(), node: globalThis.process.version }, 1)
  const counting = countWork(registry)
  return { registry, [Symbol.dispose]: () => counting[Symbol.dispose]() }
}
