import { existsSync, readFileSync } from 'node:fs'

export interface TestCounts {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

/** The parts read of the file that vitest's JSON reporter writes. */
interface Results {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly numPendingTests: number
  readonly numTodoTests: number
  readonly testResults: readonly {
    readonly status: string
    readonly assertionResults: readonly { readonly status: string }[]
  }[]
}

/** Counts of a run; a file that could not even be loaded, or a run without results, counts as one failure. */
export function testCounts(resultsFile: string): TestCounts {
  if (!existsSync(resultsFile)) return { passed: 0, failed: 1, skipped: 0 }
  const results = JSON.parse(readFileSync(resultsFile, 'utf8')) as Results
  const brokenFiles = results.testResults.filter(
    ({ status, assertionResults }) =>
      status === 'failed' && !assertionResults.some((each) => each.status === 'failed'),
  )
  return {
    passed: results.numPassedTests,
    failed: results.numFailedTests + brokenFiles.length,
    skipped: results.numPendingTests + results.numTodoTests,
  }
}
