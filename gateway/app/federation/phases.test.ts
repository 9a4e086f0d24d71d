import { expect, test } from 'vitest'
import { phasesOf } from './phases.ts'

test('the whole begins with its first phase, which may be before the server was written down', () => {
  const at = Date.parse('2026-01-10T00:00:00.000Z')
  const server = {
    createdAt: new Date(at + 20),
    launchedAt: new Date(at + 100),
    vmState: 'active',
  } as const
  const trace = {
    ...{ at, level: 'cells', considered: 1, filters: [], scores: [], lostClaims: [] },
    ...{ chosen: 'north', tookMs: 5 },
  } as const

  const phases = phasesOf(server, [{ attempt: 1, cell: null, trace } as never], [])

  expect(phases).toEqual([
    { name: 'choose-cell', startedAt: at, tookMs: 5, result: 'success' },
    { name: 'total', startedAt: at, tookMs: 100, result: 'success' },
  ])
})
