import type { Registry } from 'prom-client'
import type { UnfinishedSagas } from '../saga/unfinished.ts'
import { sampledGauge } from './sampled-gauge.ts'

/** Afterwards the registry has the sagas that have not ended, as they are given to what is returned. */
export function sagaFigures(registry: Registry): (sagas: readonly UnfinishedSagas[]) => void {
  const labels = ['saga', 'state']
  const count = sampledGauge(registry, {
    name: 'weir_sagas_unfinished',
    help: 'Sagas that have not ended',
    labels,
  })
  const oldest = sampledGauge(registry, {
    name: 'weir_saga_oldest_age_seconds',
    help: 'Age of the oldest of them',
    labels,
  })
  return (sagas) => {
    count(sagas.map(({ name, state, count: sum }) => [sum, name, state]))
    oldest(sagas.map(({ name, state, oldestAgeS }) => [oldestAgeS, name, state]))
  }
}
