import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { testCounts } from '#deploy/checks/test-counts.ts'
import { homeDirectory, projectRoot } from '#deploy/paths.ts'

// npm run test:repeat N [-- VITEST ARGUMENTS]: runs `./weir test` N times in a row, every third time beside busy loops, and
// says which tests failed in which run. The exit code is 1 when any did.

const BUSY_LOOPS = 4
const resultsFile = join(homeDirectory, 'test-results.json')
const keptDirectory = join(homeDirectory, 'test-repeat')

const { positionals } = parseArgs({
  args: process.argv.slice(2),
  allowPositionals: true,
  strict: false,
})
const runs = Number(positionals[0])
if (!Number.isInteger(runs) || runs < 1)
  throw new Error(
    `Say how often the tests are to run, as in npm run test:repeat 6; got ${positionals[0]}.`,
  )
mkdirSync(keptDirectory, { recursive: true })

const lines: string[] = []
for (let run = 1; run <= runs; run += 1) {
  const isBusy = run % 3 === 0
  const { code, seconds } = await runTests(isBusy, process.argv.slice(3))
  const { passed, failed, skipped } = testCounts(resultsFile)
  const names = failed > 0 ? failedTests() : code === 0 ? [] : ['format, lint or types failed']
  if (names.length > 0) process.exitCode = 1
  const beside = isBusy ? `${BUSY_LOOPS} busy loops` : 'nothing'
  lines.push(
    `| ${run} | ${beside} | ${passed} | ${names.length} | ${skipped} | ${seconds} s |`,
    ...names.map((name) => `  ${name}`),
  )
  if (existsSync(resultsFile)) copyFileSync(resultsFile, join(keptDirectory, `run-${run}.json`))
}
process.stdout.write(
  '\n| Run | Beside | Passed | Failed | Skipped | Time |\n|---|---|---|---|---|---|\n',
)
process.stdout.write(`${lines.join('\n')}\n`)

/** Runs the tests to their end; `code` is the exit code of `./weir test`, 1 where a signal ended it. */
async function runTests(isBusy: boolean, args: readonly string[]) {
  const loops: ChildProcess[] = []
  if (isBusy)
    for (let index = 0; index < BUSY_LOOPS; index += 1)
      loops.push(spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }))
  const startedAt = performance.now()
  try {
    const tests = spawn(join(projectRoot, 'weir'), ['test', ...args], { stdio: 'inherit' })
    const [code] = (await once(tests, 'exit')) as [number | null]
    return { code: code ?? 1, seconds: Math.round((performance.now() - startedAt) / 1_000) }
  } finally {
    for (const loop of loops) loop.kill('SIGKILL')
  }
}

function failedTests(): readonly string[] {
  if (!existsSync(resultsFile)) return ['no results were written']
  const { testResults } = JSON.parse(readFileSync(resultsFile, 'utf8')) as {
    readonly testResults: readonly {
      readonly name: string
      readonly status: string
      readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[]
    }[]
  }
  return testResults
    .filter(({ status }) => status === 'failed')
    .flatMap(({ name, assertionResults }) => {
      const file = name.replace(`${projectRoot}/`, '')
      const failed = assertionResults.filter(({ status }) => status === 'failed')
      return failed.length === 0
        ? [`${file} could not be run`]
        : failed.map(({ fullName }) => `${file}: ${fullName}`)
    })
}
