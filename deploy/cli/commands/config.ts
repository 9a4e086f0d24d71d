import type { Command } from 'commander'
import { withExamples } from '#gateway/cli/examples.ts'
import { say } from '../say.ts'

const WORD_WIDTH = 5

interface CheckFlags {
  readonly envFile: readonly string[]
  readonly offline?: true
}

export function addConfigCommand(program: Command): void {
  const config = program.command('config').description('Check the settings of programs')
  withExamples(
    config.command('check'),
    './weir config check --env-file /etc/weir/gateway.env',
    './weir config check --env-file /etc/weir/cell-north.env --env-file /etc/weir/compute-north-1.env --offline',
  )
    .description(
      'Check settings: names, values, files and addresses; exit with 1 when something is wrong',
    )
    .option(
      '--env-file <file>',
      'File with a line NAME=VALUE for each setting of a program; may be repeated (default: the environment)',
      (file: string, before: readonly string[]) => [...before, file],
      [],
    )
    .option('--offline', 'Do not connect to the addresses')
    .action(async ({ envFile: files, offline }: CheckFlags) => {
      const { checkSettings } = await import('../../config/check-settings.ts')
      const { readEnvFile } = await import('../../config/env-file.ts')
      const options = { isOffline: offline === true }
      const sources = files.length === 0 ? [undefined] : files
      for (const file of sources) {
        const env = file === undefined ? process.env : readEnvFile(file)
        if (file !== undefined) say(file)
        const findings = await checkSettings(env, options)
        for (const { is, what } of findings) say(`${is.padEnd(WORD_WIDTH)} ${what}`)
        if (findings.some(({ is }) => is === 'bad')) process.exitCode = 1
      }
    })
}
