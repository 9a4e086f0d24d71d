import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Stryker } from '@stryker-mutator/core'
import { homeDirectory, projectRoot } from '#deploy/paths.ts'
import { type Area, areasOf, mutatedFiles } from './areas.ts'
import { percentage, scoreOf } from './report.ts'

// npm run mutate [-- PATH …]: changes the code of each path in many small ways, one at a time, and runs its tests against
// each. A change that no test notices is printed; the exit code is then 1.

const { positionals } = parseArgs({ args: process.argv.slice(2), allowPositionals: true })
const lines: string[] = []
for (const area of areasOf(positionals)) {
  const score = await mutate(area)
  for (const survivor of score.survived) process.stdout.write(`${survivor}\n`)
  if (score.survived.length > 0) process.exitCode = 1
  const { killed, survived, equivalent } = score
  lines.push(
    `| ${area.path} | ${killed} | ${survived.length} | ${equivalent} | ${percentage(score)} % |`,
  )
}
process.stdout.write(`\n| Code | Killed | Survived | Equivalent | Score |\n|---|---|---|---|---|\n`)
process.stdout.write(`${lines.join('\n')}\n`)

async function mutate(area: Area) {
  process.env['WEIR_MUTATION_TESTS'] = JSON.stringify(area.tests)
  const stryker = new Stryker({
    mutate: [...mutatedFiles(area.path)],
    // Texts of messages and comments; names that matter fail in other ways.
    mutator: { excludedMutations: ['StringLiteral'], plugins: null },
    testRunner: 'vitest',
    plugins: ['@stryker-mutator/vitest-runner'],
    vitest: { configFile: 'test/mutation/vitest.config.ts', related: false },
    coverageAnalysis: 'perTest',
    concurrency: 1,
    // A loaded machine slows tests down; a test counts as hanging only if that cannot be the cause.
    timeoutMS: 60_000,
    tempDirName: join(homeDirectory, 'mutation'),
    ignorePatterns: ['/.weir', '/docs', '/test/clients', '/test/real'],
    // The copy that is mutated uses the programs unpacked for this checkout.
    buildCommand: `ln -sfn ${join(projectRoot, '.weir')} .weir`,
    // TypeScript 7 has no interface for programs, which Stryker needs only to rewrite this file.
    tsconfigFile: 'none.json',
    reporters: ['progress-append-only'],
    allowConsoleColors: false,
    logLevel: 'error',
  } as ConstructorParameters<typeof Stryker>[0])
  return scoreOf(await stryker.runMutationTest())
}
