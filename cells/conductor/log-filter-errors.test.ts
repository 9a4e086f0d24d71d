import { expect, test, vi } from 'vitest'
import { createLogger } from '#common/log.ts'
import { logFilterErrors } from './log-filter-errors.ts'

test('a filter that fails in the same way at every decision is logged once, in another way again', () => {
  const log = createLogger('test', 'silent')
  const error = vi.spyOn(log, 'error')
  const failed = (filter: string, text: string) =>
    logFilterErrors(log, new Map([[filter, new Error(text)]]))

  for (let nth = 0; nth < 3; nth += 1) failed('JsonFilter', 'no such field')
  expect(error).toHaveBeenCalledTimes(1)

  failed('JsonFilter', 'no such operator')
  failed('ComputeFilter', 'no such field')
  expect(error).toHaveBeenCalledTimes(3)

  for (let nth = 0; nth < 200; nth += 1) failed('JsonFilter', `at ${nth}`)
  expect(error).toHaveBeenCalledTimes(203)
})
