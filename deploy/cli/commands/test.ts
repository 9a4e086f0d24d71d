import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { runChecks, runShown } from '../../checks/run-checks.ts'
import { testCounts } from '../../checks/test-counts.ts'
import { installPackages } from '../../packages/install-packages.ts'
import { homeDirectory } from '../../paths.ts'
import { progress, say } from '../say.ts'

/** What runs on any machine in a few minutes; the others need a hypervisor or clients installed. */
const SHORT_PROJECTS = ['unit', 'contract', 'api', 'faults', 'simulation']

export function addTestCommand(program: Command): void {
  program
    .command('test')
    .description('check format, lint and types, then run the tests')
    .option('--all', 'everything: real hypervisors, unmodified clients, long runs')
    .argument('[vitest...]', 'passed on to vitest: files, -t NAME, --project NAME')
    .passThroughOptions()
    .allowUnknownOption()
    .action(test)
}

async function test(vitest: readonly string[], options: { readonly all?: true }): Promise<void> {
  const isAll = options.all === true
  await installPackages(isAll ? ['base', 'libvirt', 'clients'] : ['base'], progress)
  const failedChecks = await runChecks(progress)
  mkdirSync(homeDirectory, { recursive: true, mode: 0o700 })
  const resultsFile = join(homeDirectory, 'test-results.json')
  rmSync(resultsFile, { force: true })
  const code = await runShown(
    process.execPath,
    [
      'node_modules/vitest/vitest.mjs',
      'run',
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${resultsFile}`,
      ...projectsOf(vitest, isAll),
      ...vitest,
    ],
    { ...process.env, ...(isAll ? { WEIR_TEST_ALL: '1' } : {}) },
  )
  if (failedChecks.length > 0) say(`Failed checks: ${failedChecks.join(', ')}`)
  const { passed, failed, skipped } = testCounts(resultsFile)
  say(`${passed} passed, ${failed + failedChecks.length} failed, ${skipped} skipped`)
  process.exitCode = failedChecks.length > 0 ? 1 : code
}

function projectsOf(vitest: readonly string[], isAll: boolean): readonly string[] {
  const choosesItself = vitest.some((arg) => arg.startsWith('--project'))
  if (isAll || choosesItself) return []
  return SHORT_PROJECTS.map((name) => `--project=${name}`)
}
