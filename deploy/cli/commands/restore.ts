import { existsSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import type { Command } from 'commander'
import { Failure } from '#common/errors.ts'
import { withExamples } from '#gateway/cli/examples.ts'
import { layoutIn } from '../../deployment/layout.ts'
import { lockDeployment } from '../../deployment/lock.ts'
import { existingState } from '../../deployment/state.ts'
import { progress, say } from '../say.ts'

interface RestoreFlags {
  readonly yes?: true
  readonly to?: string
  readonly keyFile?: string
  readonly envFile: readonly string[]
}

export function addRestoreCommand(program: Command): void {
  withExamples(
    program.command('restore <backup>'),
    './weir restore north.backup --yes',
    './weir restore /var/backups/weir/2026-11-24T020000Z --yes',
    './weir restore /var/backups/weir/2026-11-24T020000Z --env-file /etc/weir/gateway.env --yes',
    './weir restore gateway.backup --to mysql://root@db.example/weir --key-file gateway.key',
  )
    .description(
      'Restore a database from a file, or all databases and images from the directory of a backup',
    )
    .option('--yes', 'Confirm: changes made since the backup are lost')
    .option(
      '--to <url>',
      'Restore the file into this database instead; it must be empty, or else --yes is needed',
    )
    .option('--key-file <file>', 'With --to: the key of the secrets in the backup')
    .option(
      '--env-file <file>',
      'File with the settings of gateways or a cell, whose database and images are restored instead; may be repeated',
      (file: string, before: readonly string[]) => [...before, file],
      [],
    )
    .action(async (backup: string, { yes: isSure, to, keyFile, envFile }: RestoreFlags) => {
      const path = resolve(backup)
      if (!existsSync(path)) throw new Failure('not-found', `There is no file ${path}.`)
      const isFolder = statSync(path).isDirectory()
      if (envFile.length > 0) {
        if (to !== undefined || keyFile !== undefined)
          throw new Failure('invalid', 'Give --env-file, or --to and --key-file, but not both.')
        const { restoreBySettings } = await import('../../upkeep/restore-by-settings.ts')
        const how = { envFiles: envFile, mayReplace: isSure === true }
        await restoreBySettings(path, how, progress)
        say('Start the programs that use the databases.')
        return
      }
      if (to !== undefined || keyFile !== undefined) {
        if (to === undefined || keyFile === undefined || isFolder)
          throw new Failure(
            'invalid',
            'Give --to and --key-file together, with the file of one database.',
          )
        const { restoreElsewhere } = await import('../../upkeep/restore-elsewhere.ts')
        await restoreElsewhere(path, { url: to, keyFile, mayReplace: isSure === true })
        say('The database is as in the backup. Programs that use it need the key of --key-file.')
        return
      }
      if (isSure !== true)
        throw new Failure(
          'invalid',
          `Changes made since the backup would be lost. Run: ./weir restore ${backup} --yes`,
        )
      await (isFolder ? restoreFolder(path) : restoreFiles([path]))
      say('The deployment runs. What cells have and gateways show agrees again within seconds.')
    })
}

async function restoreFiles(files: readonly string[]): Promise<void> {
  const { restoreDeployment } = await import('../../upkeep/restore-deployment.ts')
  const layout = layoutIn()
  using _lock = lockDeployment(layout)
  await restoreDeployment(layout, files, progress)
}

/** Images first: the database names them. */
async function restoreFolder(folder: string): Promise<void> {
  const { findSet, IMAGES } = await import('../../upkeep/backup-set.ts')
  const { verifySet } = await import('../../upkeep/verify-backup-set.ts')
  const { imageStoreOf } = await import('../../upkeep/deployment-source.ts')
  const { restoreImages } = await import('../../upkeep/restore-images.ts')
  const directory = dirname(folder)
  const set = findSet(directory, basename(folder))
  progress('Reading the backup ...')
  await verifySet(directory, set)
  const layout = layoutIn()
  await using store = await imageStoreOf(layout, existingState(layout))
  const { images, databases } = set.manifest
  if (store !== undefined) {
    const count = await restoreImages(join(directory, IMAGES), images, store)
    progress(`Restored ${count} images that were missing.`)
  }
  await restoreFiles(databases.map(({ name }) => join(folder, name)))
}
