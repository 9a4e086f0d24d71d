import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { testCounts } from './test-counts.ts'

const directory = mkdtempSync(join(tmpdir(), 'weir-counts-'))

afterAll(() => rmSync(directory, { recursive: true }))

function results(files: readonly { status: string; tests: readonly string[] }[]): string {
  const path = join(directory, 'results.json')
  const tests = files.flatMap((file) => file.tests)
  const count = (status: string) => tests.filter((each) => each === status).length
  writeFileSync(
    path,
    JSON.stringify({
      numPassedTests: count('passed'),
      numFailedTests: count('failed'),
      numPendingTests: count('pending'),
      numTodoTests: count('todo'),
      testResults: files.map((file) => ({
        status: file.status,
        assertionResults: file.tests.map((status) => ({ status })),
      })),
    }),
  )
  return path
}

test('testCounts() counts tests by outcome', () => {
  const path = results([
    { status: 'passed', tests: ['passed', 'pending', 'todo'] },
    { status: 'failed', tests: ['failed', 'passed'] },
  ])

  expect(testCounts(path)).toEqual({ passed: 2, failed: 1, skipped: 2 })
})

test('testCounts() counts a file that could not be loaded as failed', () => {
  const path = results([{ status: 'failed', tests: [] }])

  expect(testCounts(path)).toEqual({ passed: 0, failed: 1, skipped: 0 })
})

test('testCounts() counts a run without results as failed', () => {
  expect(testCounts(join(directory, 'absent.json'))).toEqual({ passed: 0, failed: 1, skipped: 0 })
})
