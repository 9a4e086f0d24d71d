import { afterAll, beforeAll, expect, test } from 'vitest'
import { FILTERS } from '#cells/scheduler/filters.ts'
import type { Loose } from '#test/env/api/client.ts'
import { createServer, deleteServer, untilStatus } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'

// Goal: a cell that weighs hosts by what they measure gives none of them a server that measures nothing, and says why.

let cloud: Cloud

beforeAll(async () => {
  const cell = {
    CELL_SCHEDULING_FILTERS: FILTERS.map(({ name }) => name).join(','),
    CELL_METRICS_WEIGHT_SETTING: 'cpu.percent=-1',
  }
  cloud = await startCloud({ cells: 1, hostsPerCell: 1, cell })
})

afterAll(() => cloud?.[Symbol.asyncDispose]())

test('MetricsFilter refuses a host that reports none of the metrics', async () => {
  const demo = cloud.as('demo')
  const id = await createServer(cloud, demo)

  await expect(untilStatus(demo, id, 'ACTIVE')).rejects.toThrow('MetricsFilter')
  const { body } = await cloud.as('admin').get<Loose>(`/federation/v1/servers/${id}/trace`)
  expect(JSON.stringify(body)).toContain('does not report the metric cpu.percent')
  await deleteServer(demo, id)
})
