import { expect, test } from 'vitest'
import type { FilterSettings } from '../filter.ts'
import type { HostState } from '../host-state.ts'
import { FILTER_SETTINGS, hostState, placementRequest } from '../testing.ts'
import { metricsFilter } from './metrics.ts'

test('MetricsFilter refuses hosts that do not report each metric that hosts are weighed by', () => {
  const weighed: FilterSettings = { ...FILTER_SETTINGS, metrics: ['cpu.percent', 'cpu.frequency'] }
  const refusal = (metrics: HostState['metrics'], settings = weighed) =>
    metricsFilter.refuse(hostState('a', { metrics }), placementRequest(), settings)

  expect(refusal({ 'cpu.percent': 0, 'cpu.frequency': 0, 'cpu.idle.percent': 9 })).toBeUndefined()
  expect(refusal({ 'cpu.frequency': 0 })).toBe('does not report the metric cpu.percent')
  expect(refusal({ 'cpu.percent': 0 })).toBe('does not report the metric cpu.frequency')
  expect(refusal({}, FILTER_SETTINGS)).toBeUndefined()
})
