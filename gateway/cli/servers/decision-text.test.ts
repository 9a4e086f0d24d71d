import { expect, test } from 'vitest'
import { plain } from '../output/style.ts'
import { type Decision, decisionText } from './decision-text.ts'

const DECISION: Decision = {
  attempt: 2,
  level: 'hosts',
  cell: 'north',
  at: '2026-01-10T00:00:00.000Z',
  policy: null,
  considered: 3,
  filters: [
    { name: 'ComputeFilter', refused: 0, examples: [] },
    { name: 'RamFilter', refused: 1, examples: [{ candidate: 'h3', reason: '64 < 128 MiB' }] },
  ],
  scores: [
    { candidate: 'h1', score: 1.5, parts: { freeMemoryMb: 1, cpu: 0.5, affinity: 0 } },
    { candidate: 'h2', score: 0.25, parts: { freeMemoryMb: 0.25, cpu: 0, affinity: 0 } },
  ],
  lost_claims: ['h2'],
  chosen: 'h1',
  emptied_by: null,
  took_ms: 0.4,
}

test('a decision says who was considered, refused, how the rest scored, and who was chosen', () => {
  expect(decisionText(DECISION, false, plain)).toBe(
    `Attempt 2, hosts in cell north: of 3 considered h1 was chosen, in 0.4 ms.
  FILTER     REFUSED  FOR EXAMPLE
  RamFilter        1  h3: 64 < 128 MiB
  CANDIDATE  SCORE  FREE MEMORY MB  CPU
  h1           1.5               1  0.5
  h2          0.25            0.25    0
  filled up meanwhile: h2
`,
  )
  expect(decisionText(DECISION, true, plain)).toContain('ComputeFilter        0  -')
  expect(decisionText(DECISION, true, plain)).toContain('CPU  AFFINITY\n')
  const empty = { ...DECISION, chosen: null, emptied_by: 'RamFilter', scores: [] }
  expect(decisionText(empty, false, plain)).toContain('of 3 considered RamFilter removed the last')
})
