import { expect, test } from 'vitest'
import { programMetrics } from './program-metrics.ts'

test('a look at the metrics of a process does not walk its connections, as some of prom-client do', async () => {
  using metrics = programMetrics({ program: 'gateway', process: 'gateway-1' })

  const text = await metrics.registry.metrics()

  expect(text).toContain('process_resident_memory_bytes')
  expect(text).toContain('nodejs_eventloop_lag_p99_seconds')
  expect(text).not.toContain('nodejs_active_')
})
