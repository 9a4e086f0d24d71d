import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { findProgram, programPath } from '#deploy/process/find-program.ts'

// Goal: Prometheus takes what operators copy for monitoring, and each alert fires on what it is for and on nothing else.

const FOLDER = 'deploy/monitoring'
const RULE_TESTS = 'test/monitoring/rules.test.yaml'
const run = promisify(execFile)
const promtool = (...args: readonly string[]) => run(findProgram('promtool'), [...args])
const isMissing = programPath('promtool') === undefined
const folder = await mkdtemp(join(tmpdir(), 'weir-monitoring-'))
afterAll(() => rm(folder, { recursive: true }))

test.skipIf(isMissing)('promtool takes the configuration and the rules', async () => {
  for (const name of ['prometheus.yaml', 'rules.yaml'])
    await writeFile(join(folder, name), await readFile(join(FOLDER, name)))
  await writeFile(join(folder, 'metrics.token'), 'a-token')

  const { stdout } = await promtool('check', 'config', join(folder, 'prometheus.yaml'))

  expect(stdout).toContain('SUCCESS: 1 rule files found')
  expect(stdout).toMatch(/SUCCESS: \d\d rules found/)
})

test.skipIf(isMissing)(
  'each alert fires on what it is for, and none where all is well',
  async () => {
    const { stdout, stderr } = await promtool('test', 'rules', RULE_TESTS)

    expect(stdout + stderr).toContain('SUCCESS')
  },
)

test('each alert is fired by a test of its own', async () => {
  const { groups } = parse(await readFile(join(FOLDER, 'rules.yaml'), 'utf8')) as Rules
  const alerts = groups.flatMap(({ rules }) => rules.map(({ alert }) => alert))
  const { tests } = parse(await readFile(RULE_TESTS, 'utf8')) as RuleTests
  const all = tests.flatMap(({ alert_rule_test }) => alert_rule_test)
  const namesOf = (fires: boolean) =>
    all
      .filter(({ exp_alerts }) => exp_alerts.length > 0 === fires)
      .map(({ alertname }) => alertname)
      .toSorted()

  expect(namesOf(true)).toEqual(alerts.toSorted())
  expect(namesOf(false)).toEqual(alerts.toSorted())
})

interface Rules {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string }[] }[]
}

interface RuleTests {
  readonly tests: readonly {
    readonly alert_rule_test: readonly {
      readonly alertname: string
      readonly exp_alerts: readonly unknown[]
    }[]
  }[]
}
