import { expect, test } from 'vitest'
import { createLogger } from '#common/log.ts'
import { RefusalLog } from './refusal-log.ts'

test('refusals of a kind are one line a minute, which counts the others', () => {
  const lines: string[] = []
  let now = 0
  const log = createLogger('test', 'info', { write: (line) => void lines.push(line) })
  const refusals = new RefusalLog(log, () => now)

  for (let n = 0; n < 1_000; n += 1) refusals.refused('too many', { n })
  refusals.refused('another', {})
  expect(lines).toHaveLength(2)

  now = 60_000
  refusals.refused('too many', { n: 1_000 })
  expect(JSON.parse(lines[2]!)).toMatchObject({ level: 'warn', n: 1_000, more_like_it: 999 })
})
