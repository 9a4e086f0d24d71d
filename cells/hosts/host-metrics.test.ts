import { afterAll, beforeAll, expect, test } from 'vitest'
import { DEFAULT_FILTERS } from '#cells/scheduler/filters.ts'
import { FILTER_SETTINGS, WEIGHER_SETTINGS } from '#cells/scheduler/testing.ts'
import { sampleBuild } from '#test/env/sample-build.ts'
import { type TestCell, testCell } from '#test/env/test-cell.ts'
import type { RunningCell } from '../context.ts'

// Goal: what hosts measure reaches each process of the cell over the bus, and decides where servers go.

let cell: TestCell
let one: RunningCell
let other: RunningCell

beforeAll(async () => {
  cell = await testCell('host_metrics')
  const change = {
    filters: [...DEFAULT_FILTERS, 'MetricsFilter'],
    filterSettings: { ...FILTER_SETTINGS, metrics: ['cpu.percent'] },
    weights: { metrics: 1 },
    weigherSettings: { ...WEIGHER_SETTINGS, metricWeights: { 'cpu.percent': -1 } },
  }
  one = await cell.addProcess('one', change)
  other = await cell.addProcess('other', change)
  await cell.addHost({ name: 'busy', metrics: new Map([['cpu.percent', 80]]) })
  await cell.addHost({ name: 'idle', metrics: new Map([['cpu.percent', 5]]) })
  await cell.addHost({ name: 'silent' })
  await cell.waitForHosts(one, 3)
})

afterAll(() => cell?.[Symbol.asyncDispose]())

test('a server goes to the host that is least busy, and not to one that does not say', async () => {
  const measured = ({ cell: { conductor } }: RunningCell) =>
    conductor.hosts
      .table()
      .states.map(({ name, metrics }) => [name, metrics['cpu.percent']] as const)
  for (const process of [one, other])
    await expect
      .poll(() => measured(process))
      .toEqual([
        ['busy', 80],
        ['idle', 5],
        ['silent', undefined],
      ])
  const { trace } = await cell.ask('placement.explain', sampleBuild())

  expect(trace.scores).toEqual([
    { candidate: 'idle', score: 1, parts: { metrics: 1 } },
    { candidate: 'busy', score: 0, parts: { metrics: 0 } },
  ])
  expect(trace.filters.find(({ name }) => name === 'MetricsFilter')).toEqual({
    name: 'MetricsFilter',
    refused: 1,
    examples: [{ candidate: 'silent', reason: 'does not report the metric cpu.percent' }],
  })
})

test('a refresh keeps what hosts have measured', async () => {
  await one.cell.conductor.hosts.refresh()

  const [busy] = one.cell.conductor.hosts.table().states
  expect(busy?.metrics).toEqual({ 'cpu.percent': 80 })
})
