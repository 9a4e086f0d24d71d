import { expect, test } from 'vitest'
import { answersIn, type Health, whatIsWorse } from './health.ts'

const GATEWAY = 'http://127.0.0.1:8774'

function health(change: Partial<Health> = {}, all = 1_000, failed = 0): Health {
  return { unreachable: [], stuck: 0, answers: new Map([[GATEWAY, { all, failed }]]), ...change }
}

test('answers are counted by their status, whatever the other labels', () => {
  const text = `# TYPE api_request_duration_seconds histogram
api_request_duration_seconds_bucket{le="0.1",method="GET",route="/a",status="500",microversion="2.1"} 9
api_request_duration_seconds_count{method="GET",route="/a",status="200",microversion="2.1"} 40
api_request_duration_seconds_count{method="POST",route="/a/{b}",status="503",microversion="2.1"} 2
api_request_duration_seconds_count{method="GET",route="/c",status="404",microversion="other"} 1
`
  expect(answersIn(text)).toEqual({ all: 43, failed: 2 })
})

test.each([
  ['as before', health({}, 1_500), undefined],
  ['a cell that is not reached', health({ unreachable: ['north'] }), 'do not reach north'],
  ['a stuck operation', health({ stuck: 1 }), '1 more operations are stuck'],
  [
    'an answer of 500, where there was none',
    health({}, 1_010, 1),
    'of 10 answers of http://127.0.0.1:8774 1 had',
  ],
  ['the same of a gateway that began to count again', health({}, 10, 1), 'of 10 answers of'],
])('%s', (_what, now, worse) => {
  const usual = health()

  if (worse === undefined) expect(whatIsWorse(usual, usual, now)).toBeUndefined()
  else expect(whatIsWorse(usual, usual, now)).toContain(worse)
})

test('what was so before the upgrade is no trouble, and a share of answers three times as large is', () => {
  const usual = health({ unreachable: ['lab'], stuck: 2 }, 1_000, 10)
  const later = (failed: number) => health({ unreachable: ['lab'], stuck: 2 }, 1_100, 10 + failed)

  expect(whatIsWorse(usual, usual, later(3))).toBeUndefined()
  expect(whatIsWorse(usual, usual, later(4))).toContain('of 100 answers')
})
