import { createHash } from 'node:crypto'
import {
  createReadStream,
  createWriteStream,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'
import { finished } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { findWriter } from '#common/db/cluster-nodes.ts'
import { databaseStatus } from '#common/db/database-status.ts'
import { databaseUrls } from '#common/db/database-url.ts'
import { Failure } from '#common/errors.ts'
import { projectRoot } from '../paths.ts'
import { dumpDatabase } from './dump-database.ts'

/** Describes the database that a backup holds. */
export interface BackupHeader {
  readonly weirBackup: typeof FORMAT
  readonly of: BackupSubject
  readonly takenAt: string
  /** Of the migrations that made its tables. */
  readonly schema: string
  /** Names the key that opens its sealed secrets, and tells nothing about it. */
  readonly key: string
}

export type BackupSubject =
  | { readonly kind: 'gateway' }
  | { readonly kind: 'cell'; readonly id: string; readonly name: string }

const FORMAT = 1

/** `migrations`: the names of those that a database has; undefined: all of this release. */
export function backupHeader(
  of: BackupSubject,
  keyFile: string,
  migrations?: readonly string[],
): BackupHeader {
  const takenAt = new Date().toISOString()
  const schema = schemaOf(of.kind, migrations)
  return { weirBackup: FORMAT, of, takenAt, schema, key: keyName(keyFile) }
}

/** True for the first line of what `backupHeader` began, in this format. */
export function isBackupHeader(value: unknown): value is BackupHeader {
  return (
    typeof value === 'object' &&
    value !== null &&
    'weirBackup' in value &&
    value.weirBackup === FORMAT
  )
}

/** Where the migrations are of which `kind` of database. */
export function migrationsOf(kind: BackupSubject['kind']): string {
  return join(projectRoot, kind === 'gateway' ? 'gateway' : 'cells', 'db', 'migrations')
}

function schemaOf(kind: BackupSubject['kind'], migrations?: readonly string[]): string {
  const folder = migrationsOf(kind)
  const hash = createHash('sha256')
  const files = readdirSync(folder).filter((name) => name.endsWith('.sql'))
  const has = (file: string) => migrations?.includes(basename(file, '.sql')) ?? true
  for (const name of files.filter(has).toSorted()) hash.update(readFileSync(join(folder, name)))
  return hash.digest('hex')
}

function keyName(file: string): string {
  return createHash('sha256').update('weir backup key\n').update(readFileSync(file)).digest('hex')
}

/** A backup that is being read. */
export interface OpenBackup {
  readonly header: BackupHeader
  /** The lines after the header. */
  readonly lines: AsyncIterable<string>
  /** For a caller that does not read all lines. */
  readonly close: () => void
}

/** Throws `not-found`, and `invalid` for a file that is not a backup. */
export async function openBackup(file: string): Promise<OpenBackup> {
  if (!existsSync(file)) throw new Failure('not-found', `There is no file ${file}.`)
  const input = createReadStream(file).pipe(createGunzip())
  const lines = createInterface({ input })[Symbol.asyncIterator]()
  const header = await lines
    .next()
    .then(({ value }) => JSON.parse(String(value)) as unknown)
    .catch(() => undefined)
  const close = () => void input.destroy()
  if (isBackupHeader(header))
    return { header, lines: { [Symbol.asyncIterator]: () => lines }, close }
  close()
  throw new Failure('invalid', `${file} is no backup that this Weir reads.`)
}

/** How long no server of a cluster may take statements. */
const WRITER_LIMIT_MS = 10_000

export interface BackedUp {
  readonly of: BackupSubject
  /** Of one server, or of all of a cluster. */
  readonly url: string
  /** Of the secrets sealed in it. */
  readonly keyFile: string
}

/** Afterwards the file (0600) holds the database as it is now, whole; before, or if this fails, there is none. */
export async function writeBackup(file: string, { of, url, keyFile }: BackedUp): Promise<void> {
  if (existsSync(file)) throw new Failure('conflict', `${file} exists: nothing is overwritten.`)
  const draft = `${file}.part`
  const zip = createGzip()
  const out = zip.pipe(createWriteStream(draft, { mode: 0o600 }))
  try {
    // Before an upgrade this is the backup of a database that the former release can restore.
    const writer = await findWriter(databaseUrls(url), WRITER_LIMIT_MS)
    const { migrations } = await databaseStatus(writer, migrationsOf(of.kind))
    zip.write(`${JSON.stringify(backupHeader(of, keyFile, migrations?.applied))}\n`)
    await dumpDatabase(writer, zip)
    zip.end()
    await finished(out)
    renameSync(draft, file)
  } catch (error) {
    zip.destroy()
    rmSync(draft, { force: true })
    throw error
  }
}
