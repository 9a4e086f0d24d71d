import { expect, test } from 'vitest'
import type { Trace } from '#openapi/wire/trace.ts'
import { keptTrace, traceFrom } from './kept-trace.ts'

const TRACE: Trace = {
  at: 1_795_307_943_938,
  level: 'hosts',
  considered: 2,
  filters: [
    { name: 'RetryFilter', refused: 0, examples: [] },
    { name: 'RamFilter', refused: 1, examples: [{ candidate: 'one', reason: 'It is full.' }] },
  ],
  scores: [{ candidate: 'two', score: 1, parts: { ram: 1 } }],
  lostClaims: [],
  chosen: 'two',
  tookMs: 0.1,
}

test('a stored trace has the names of filters that refused no candidate, and is read back complete', () => {
  const kept = keptTrace(TRACE)

  expect(kept.filters).toEqual(['RetryFilter', TRACE.filters[1]])
  expect(traceFrom(kept)).toEqual(TRACE)
})
