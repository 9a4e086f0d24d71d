import { readFileSync } from 'node:fs'
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
      const { writeBackup } = await import('../../upkeep/write-backup.ts')
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
      if (isSure !== true)
        throw new Failure(
          'invalid',
          `What has happened since would be forgotten. Run: ./weir restore ${file} --yes`,
        )
      const { restoreDeployment } = await import('../../upkeep/restore-deployment.ts')
      const layout = layoutIn()
      using _lock = lockDeployment(layout)
      await restoreDeployment(layout, resolve(file), progress)
      say('The deployment runs. What cells have and gateways show agrees again within seconds.')
    })
}
