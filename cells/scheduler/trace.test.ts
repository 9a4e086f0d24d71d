import { expect, test } from 'vitest'
import { hostTrace, noHostReason } from './trace.ts'

const refusal = (name: string, refused: number, candidate = 'a') => ({
  name,
  refused,
  examples: refused > 0 ? [{ candidate, reason: 'is down' }] : [],
})
const selection = (considered: number, filters: ReturnType<typeof refusal>[] = []) => ({
  hosts: [],
  considered,
  filters,
  scores: [{ candidate: 'a', score: 1, parts: { ram: 1 } }],
})

test('a cell without hosts is named as the reason', () => {
  expect(noHostReason(selection(0))).toBe('No valid host was found: the cell has no host.')
})

test('the last filter that refused a host is the reason, with its first example', () => {
  const filters = [
    refusal('RetryFilter', 1, 'b'),
    refusal('RamFilter', 2),
    refusal('DiskFilter', 0),
  ]

  expect(noHostReason(selection(3, filters))).toBe(
    'No valid host was found: RamFilter refused the last of 3 (a is down).',
  )
})

test('where no filter refused, the hosts filled up', () => {
  const reason = 'No valid host was found: every host filled up while it was claimed.'

  expect(noHostReason(selection(2, [refusal('RamFilter', 0)]))).toBe(reason)
  expect(noHostReason(selection(2, [{ name: 'RamFilter', refused: 1, examples: [] }]))).toBe(reason)
})

test('a trace is the selection and its end', () => {
  const filters = [refusal('RamFilter', 1)]
  const end = { at: 5, tookMs: 2, lostClaims: ['b'], chosen: 'a' }

  expect(hostTrace(selection(2, filters), end)).toEqual({
    level: 'hosts',
    considered: 2,
    filters,
    scores: [{ candidate: 'a', score: 1, parts: { ram: 1 } }],
    ...end,
  })
})
