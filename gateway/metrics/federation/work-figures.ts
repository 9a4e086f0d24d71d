import type { Registry } from 'prom-client'
import { sagaFigures } from '#common/metrics/saga-figures.ts'
import { type Sample, sampledGauge } from '#common/metrics/sampled-gauge.ts'
import type { UnfinishedSagas } from '#common/saga/unfinished.ts'
import { INTENT_ACTIONS } from '#common/states/intent-actions.ts'
import type { WorkCounts } from '../../db/federation-counts.ts'

export interface WorkRead {
  readonly sagas: readonly UnfinishedSagas[]
  readonly work: WorkCounts
  /** Stuck operations of gateways and cells. */
  readonly stuck: number
}

/** Afterwards the registry has the work that gateways share, as it is given to what is returned. */
export function workFigures(registry: Registry): (read: WorkRead) => void {
  const gauge = (name: string, help: string, ...labels: readonly string[]) =>
    sampledGauge(registry, { name, help, labels })
  const setSagas = sagaFigures(registry)
  const stuckCount = gauge(
    'weir_stuck_operations',
    'Operations of gateways and cells that no process takes up until an operator continues them',
  )
  const operations = gauge('weir_operations_running', 'Operations that operators began', 'kind')
  const intents = gauge('weir_intents', 'Actions that wait for their cell', 'action')
  const oldest = gauge('weir_intent_oldest_age_seconds', 'Age of the oldest of them', 'action')
  const queues = gauge('weir_queue_length', 'Objects that wait for gateways', 'queue')
  return ({ sagas, work, stuck }) => {
    setSagas(sagas)
    stuckCount([[stuck]])
    operations(work.runningOperations.map(({ kind, count }) => [count, kind]))
    const known = new Map(work.intents.map((each) => [each.action, each]))
    const ofEach = (value: (action: string) => number) =>
      INTENT_ACTIONS.map((action): Sample => [value(action), action])
    intents(ofEach((action) => known.get(action)?.count ?? 0))
    oldest(ofEach((action) => known.get(action)?.oldestAgeS ?? 0))
    queues([
      [work.eventInbox, 'events'],
      [work.deletingServers, 'deletes'],
      [work.notBuiltServers, 'rebuilds-elsewhere'],
      [work.imageTasks, 'image-imports'],
    ])
  }
}
