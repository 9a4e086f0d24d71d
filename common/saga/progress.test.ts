import { expect, test } from 'vitest'
import { type LogRow, Progress } from './progress.ts'

test('a row that is there already stays as it is, in its place', () => {
  const started: LogRow = { step: 'build', event: 'started', data: null }
  const succeeded: LogRow = { step: 'build', event: 'succeeded', data: 'first' }

  const progress = new Progress([started, succeeded, { ...succeeded, data: 'second' }, started])

  expect(progress.log).toEqual([started, succeeded])
  expect(progress.output('build')).toBe('first')
})
