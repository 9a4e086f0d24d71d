import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectRoot } from '../paths.ts'

/** What a backup is of. */
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

export function backupHeader(of: BackupSubject, keyFile: string): BackupHeader {
  const takenAt = new Date().toISOString()
  return { weirBackup: FORMAT, of, takenAt, schema: schemaOf(of.kind), key: keyName(keyFile) }
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

function schemaOf(kind: BackupSubject['kind']): string {
  const folder = migrationsOf(kind)
  const hash = createHash('sha256')
  const files = readdirSync(folder).filter((name) => name.endsWith('.sql'))
  for (const name of files.toSorted()) hash.update(readFileSync(join(folder, name)))
  return hash.digest('hex')
}

function keyName(file: string): string {
  return createHash('sha256').update('weir backup key\n').update(readFileSync(file)).digest('hex')
}
