import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import { Failure } from '#common/errors.ts'
import { withExamples } from '#gateway/cli/examples.ts'
import { layoutIn } from '../../deployment/layout.ts'
import { lockDeployment } from '../../deployment/lock.ts'
import { existingState } from '../../deployment/state.ts'
import { progress, say } from '../say.ts'

export function addBackupCommands(program: Command): void {
  withExamples(
    program.command('backup <database>'),
    './weir backup gateway --file gateway.backup',
    './weir backup north --file north.backup',
  )
    .description('Back up the database of the gateways or of a cell to a file, while it is in use')
    .requiredOption('--file <file>', 'File to write; an existing file is not overwritten')
    .action(async (name: string, { file }: { readonly file: string }) => {
      const { backupSubject, databaseOf } = await import('../../upkeep/restore-deployment.ts')
      const { writeBackup } = await import('../../upkeep/backup-file.ts')
      const layout = layoutIn()
      const of = backupSubject(existingState(layout), name)
      const { database, keyFile } = databaseOf(layout, of)
      const url = readFileSync(join(layout.secrets, `${database}.url`), 'utf8')
      await writeBackup(resolve(file), { of, url, keyFile })
      say(
        `${file} holds the database of ${name}, and secrets that only ${keyFile} opens: keep both.`,
      )
    })
  withExamples(program.command('restore <file>'), './weir restore north.backup --yes')
    .description('Restore a database from a backup')
    .option('--yes', 'Confirm: changes made since the backup are lost')
    .action(async (file: string, { yes: isSure }: { readonly yes?: true }) => {
      if (!existsSync(resolve(file)))
        throw new Failure('not-found', `There is no file ${resolve(file)}.`)
      if (isSure !== true)
        throw new Failure(
          'invalid',
          `Changes made since the backup would be lost. Run: ./weir restore ${file} --yes`,
        )
      const { restoreDeployment } = await import('../../upkeep/restore-deployment.ts')
      const layout = layoutIn()
      using _lock = lockDeployment(layout)
      await restoreDeployment(layout, resolve(file), progress)
      say('The deployment runs. What cells have and gateways show agrees again within seconds.')
    })
}

const WORD_WIDTH = 5

export function addUpgradeCommand(program: Command): void {
  const upgrade = program.command('upgrade').description('Pre-upgrade checks')
  withExamples(upgrade.command('check'), './weir upgrade check')
    .description(
      'Check that the release of this checkout works with the databases and cells; exit with 1 if not',
    )
    .action(async () => {
      const { checkUpgrade } = await import('../../upkeep/check-upgrade.ts')
      const findings = await checkUpgrade(layoutIn())
      for (const { is, what } of findings) say(`${is.padEnd(WORD_WIDTH)} ${what}`)
      if (findings.some(({ is }) => is === 'bad')) process.exitCode = 1
    })
}
