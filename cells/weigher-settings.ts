import { type EnvReader, SettingsError } from '#common/env.ts'
import { METRIC_NAMES } from '#drivers/host-metrics.ts'
import type { WeigherSettings } from './scheduler/weigher.ts'

/** As in Nova (`metrics.weight_of_unavailable`): less than any usual sum of metrics. */
const WEIGHT_OF_UNAVAILABLE = -10_000
const PAIR = /^([^=]+)=(-?\d+(?:\.\d+)?)$/
const METRICS_FILTER = 'MetricsFilter'

/**
 * Reads how much each metric and each property of images counts. Throws for a metric that no host reports, and, as Nova's scheduler fails then, where
 * hosts must report the metrics and no filter refuses those that do not.
 */
export function readWeigherSettings(read: EnvReader, filters: readonly string[]): WeigherSettings {
  const metricWeights = weightsOf(read, 'METRICS_WEIGHT_SETTING')
  const weightOfUnavailable = read.number('METRICS_WEIGHT_OF_UNAVAILABLE', WEIGHT_OF_UNAVAILABLE)
  const isRequired = read.boolean('METRICS_REQUIRED', true)
  const names = Object.keys(metricWeights)
  const unknown = names.find((name) => !METRIC_NAMES.includes(name))
  if (unknown !== undefined)
    throw new SettingsError([
      `CELL_METRICS_WEIGHT_SETTING: there is no metric '${unknown}'; there are ${METRIC_NAMES.join(', ')}`,
    ])
  if (isRequired && names.length > 0 && !filters.includes(METRICS_FILTER))
    throw new SettingsError([
      `CELL_METRICS_REQUIRED: hosts without the metrics are refused by ${METRICS_FILTER} alone: name it in CELL_SCHEDULING_FILTERS, or set this to false`,
    ])
  const imagePropertyWeights = weightsOf(read, 'IMAGE_PROPS_WEIGHT_SETTING')
  return { metricWeights, weightOfUnavailable, imagePropertyWeights }
}

/** Pairs such as `cpu.percent=-1`. */
function weightsOf(read: EnvReader, name: string): Readonly<Record<string, number>> {
  const pairs = read.list(name).map((pair) => {
    const [, of, weight] = PAIR.exec(pair) ?? []
    if (of === undefined)
      throw new SettingsError([`CELL_${name}: ${pair} is not a name and a number, such as a=1.5`])
    return [of, Number(weight)] as const
  })
  return Object.fromEntries(pairs)
}
