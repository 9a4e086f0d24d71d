import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import { Failure } from '#common/errors.ts'
import { withExamples } from '#gateway/cli/examples.ts'
import { layoutIn } from '../../deployment/layout.ts'
import { existingState } from '../../deployment/state.ts'
import type { BackupSource } from '../../upkeep/write-backup-set.ts'
import { progress, say } from '../say.ts'
import { upTo } from '../up-to.ts'

const KEPT_MAX = 10_000
const SETTINGS = 'WEIR_BACKUP_S3_* of the environment have its endpoint and keys'

export function addBackupCommand(program: Command): void {
  const backup = program.command('backup').description('Back up databases and images')
  addRun(backup)
  addList(backup)
  addVerify(backup)
  addFetch(backup)
  addDatabase(backup)
}

/** The default, so that its name may be left out. */
function addDatabase(backup: Command): void {
  withExamples(
    backup.command('database <name>', { isDefault: true }),
    './weir backup database gateway --file gateway.backup',
    './weir backup database north --file north.backup',
  )
    .description('Back up the database of the gateways or of a cell to a file, while it is in use')
    .requiredOption('--file <file>', 'File to write; an existing file is not overwritten')
    .action(async (name: string, { file }: { readonly file: string }) => {
      const { backupSubject } = await import('../../upkeep/restore-deployment.ts')
      const { backedUp } = await import('../../upkeep/deployment-source.ts')
      const { writeBackup } = await import('../../upkeep/backup-file.ts')
      const layout = layoutIn()
      const source = backedUp(layout, backupSubject(existingState(layout), name))
      await writeBackup(resolve(file), source)
      say(
        `${file} holds the database of ${name}, and secrets that only ${source.keyFile} opens: keep both.`,
      )
    })
}

interface RunFlags {
  readonly directory: string
  readonly keepDaily: number
  readonly keepWeekly: number
  readonly keepMonthly: number
  readonly images: boolean
  readonly envFile: readonly string[]
  readonly to?: string
}

function addRun(backup: Command): void {
  withExamples(
    backup.command('run'),
    './weir backup run --directory /var/backups/weir --keep-daily 7 --keep-weekly 4',
    './weir backup run --directory /var/backups/weir --to s3://backups/weir',
  )
    .description(
      'Back up every database and image of this deployment, verify the backup, and delete expired ones',
    )
    .requiredOption('--directory <directory>', 'Directory with backups')
    .option('--keep-daily <days>', 'Keep the newest backup of this many days', upTo(KEPT_MAX, 0), 7)
    .option(
      '--keep-weekly <weeks>',
      'Keep the newest backup of this many weeks',
      upTo(KEPT_MAX, 0),
      4,
    )
    .option(
      '--keep-monthly <months>',
      'Keep the newest backup of this many months',
      upTo(KEPT_MAX, 0),
      6,
    )
    .option('--no-images', 'Leave images out')
    .option(
      '--env-file <file>',
      'File with the settings of a gateway or a cell, whose database is backed up instead; may be repeated',
      (file: string, before: readonly string[]) => [...before, file],
      [],
    )
    .option(
      '--to <url>',
      `Copy the backup to a bucket too, s3://BUCKET/PREFIX, encrypted with the gateways' key; ${SETTINGS}`,
    )
    .action(run)
}

async function run(flags: RunFlags): Promise<void> {
  const { lockBackups } = await import('../../upkeep/lock-backups.ts')
  const { offSiteOf } = await import('../../upkeep/deployment-source.ts')
  const { writeBackupSet } = await import('../../upkeep/write-backup-set.ts')
  const { removeExpired } = await import('../../upkeep/keep-backup-sets.ts')
  const { to } = flags
  const directory = resolve(flags.directory)
  const keep = { daily: flags.keepDaily, weekly: flags.keepWeekly, monthly: flags.keepMonthly }
  using _lock = lockBackups(directory)
  const source = await sourceOf(flags)
  await using _store = source.store
  const { databases } = source
  const off = to === undefined ? undefined : offSiteOf(to, process.env, keyFileOf(databases))
  await using _client = off?.client
  progress('Backing up databases and images ...')
  const set = await writeBackupSet(directory, source, new Date())
  const { length: images } = set.manifest.images
  say(
    `${join(directory, set.name)} holds ${countOf(databases.length, 'database')} and ${countOf(images, 'image')}, and was verified.`,
  )
  if (off !== undefined && to !== undefined) {
    const { copyOffSite, removeExpiredOffSite } = await import('../../upkeep/off-site.ts')
    progress(`Copying it to ${to} ...`)
    await copyOffSite(off, directory, set)
    say(`${to} has the backup.`)
    reportExpired(to, await removeExpiredOffSite(off, keep))
  }
  reportExpired(directory, removeExpired(directory, keep))
  const keys = databases.map(({ keyFile }) => keyFile).join(', ')
  say(`Only these keys open the secrets in it, so keep copies of them elsewhere: ${keys}`)
}

async function sourceOf({ envFile, images }: RunFlags): Promise<BackupSource> {
  const { databasesOf, imageStoreOf } = await import('../../upkeep/deployment-source.ts')
  const { sourceOfSettings } = await import('../../upkeep/settings-source.ts')
  if (envFile.length > 0) return sourceOfSettings(envFile, images)
  const layout = layoutIn()
  const state = existingState(layout)
  const store = images ? await imageStoreOf(layout, state) : undefined
  return { databases: databasesOf(layout, state), store }
}

/** Throws `invalid` where there is no gateway, whose key copies elsewhere are encrypted with. */
function keyFileOf(databases: BackupSource['databases']): string {
  const gateway = databases.find(({ of }) => of.kind === 'gateway')
  if (gateway !== undefined) return gateway.keyFile
  throw new Failure(
    'invalid',
    '--to: there is no gateway here, with whose key a copy is encrypted. Name its settings: --env-file FILE',
  )
}

function countOf(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}

function reportExpired(where: string, names: readonly string[]): void {
  if (names.length > 0) say(`Deleted expired backups from ${where}: ${names.join(', ')}`)
}

function addList(backup: Command): void {
  withExamples(backup.command('list'), './weir backup list --directory /var/backups/weir')
    .description('List backups')
    .requiredOption('--directory <directory>', 'Directory with backups')
    .action(async ({ directory }: { readonly directory: string }) => {
      const { backupSets } = await import('../../upkeep/backup-set.ts')
      for (const { name, manifest } of backupSets(resolve(directory))) {
        const { databases, images } = manifest
        say(`${name}  ${countOf(databases.length, 'database')}  ${countOf(images.length, 'image')}`)
      }
    })
}

interface ChoiceFlags {
  readonly directory: string
  readonly name?: string
}

function addVerify(backup: Command): void {
  withExamples(backup.command('verify'), './weir backup verify --directory /var/backups/weir')
    .description('Read a whole backup, and fail if any of it is missing or damaged')
    .requiredOption('--directory <directory>', 'Directory with backups')
    .option('--name <name>', 'Name of the backup, as in the list (default: the newest)')
    .action(async ({ directory, name }: ChoiceFlags) => {
      const { findSet } = await import('../../upkeep/backup-set.ts')
      const { verifySet } = await import('../../upkeep/verify-backup-set.ts')
      const set = findSet(resolve(directory), name)
      const { rows, images } = await verifySet(resolve(directory), set)
      say(`Backup ${set.name} is whole: ${countOf(rows, 'row')}, ${countOf(images, 'image')}.`)
    })
}

interface FetchFlags extends ChoiceFlags {
  readonly from: string
  readonly keyFile?: string
}

function addFetch(backup: Command): void {
  withExamples(
    backup.command('fetch'),
    './weir backup fetch --from s3://backups/weir --directory /var/backups/weir --key-file gateway.key',
  )
    .description('Fetch a backup from a bucket, decrypt it, and verify it')
    .requiredOption('--from <url>', `Bucket with backups, s3://BUCKET/PREFIX; ${SETTINGS}`)
    .requiredOption('--directory <directory>', 'Directory to write to')
    .option('--name <name>', 'Name of the backup (default: the newest)')
    .option(
      '--key-file <file>',
      "The gateways' key from the time of the backup (default: this deployment's)",
    )
    .action(async ({ from, directory, name, keyFile }: FetchFlags) => {
      const { lockBackups } = await import('../../upkeep/lock-backups.ts')
      const { offSiteOf } = await import('../../upkeep/deployment-source.ts')
      const { fetchFromOffSite } = await import('../../upkeep/off-site.ts')
      const off = offSiteOf(from, process.env, keyFile ?? keyFileIn(layoutIn().secrets))
      await using _client = off.client
      using _lock = lockBackups(resolve(directory))
      const set = await fetchFromOffSite(off, resolve(directory), name)
      say(`${join(resolve(directory), set.name)} holds the backup, and was verified.`)
    })
}

function keyFileIn(secrets: string): string {
  return join(secrets, 'gateway.key')
}
