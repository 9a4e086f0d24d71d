import { expect, test } from 'vitest'
import { redactText } from './redact-text.ts'

const SEED = `SA${'A'.repeat(56)}`

test('secrets are removed from JSON, from lines of JSON and from plain lines', () => {
  const whole = redactText(JSON.stringify({ cells: [{ name: 'north', account: { seed: 'abc' } }] }))
  expect(JSON.parse(whole)).toEqual({
    cells: [{ name: 'north', account: { seed: '[redacted]' } }],
  })

  const lines = [
    '{"level":30,"adminPass":"x","url":"mysql://weir:hidden@127.0.0.1/weir"}',
    'GATEWAY_NATS_PASSWORD=hidden and more',
    `user loads ${SEED}`,
    'nothing of note',
  ].join('\n')
  expect(redactText(lines).split('\n')).toEqual([
    '{"level":30,"adminPass":"[redacted]","url":"mysql://weir:[redacted]@127.0.0.1/weir"}',
    'GATEWAY_NATS_PASSWORD=[redacted] and more',
    'user loads [redacted]',
    'nothing of note',
  ])
})
