import { type Env, EnvReader } from '#common/env.ts'
import { Failure } from '#common/errors.ts'
import { readEnvFile } from '../config/env-file.ts'
import type { BackedUp, BackupSubject } from './backup-file.ts'
import { storeOf } from './deployment-source.ts'
import { namedDatabase } from './named-database.ts'
import type { BackupSource } from './write-backup-set.ts'

/**
 * The databases of gateways and cells that files of settings name, and the gateways' images. Throws `invalid` for a file
 * that names no database, no key file, or a cell without its name.
 */
export async function sourceOfSettings(
  files: readonly string[],
  withImages: boolean,
): Promise<BackupSource> {
  const databases: BackedUp[] = []
  let gateway: Env | undefined
  for (const file of files) {
    const env = readEnvFile(file)
    const { kind, url } = namedDatabase(file, env)
    if (kind === 'gateway') gateway = env
    const [of, keyFile] = [subjectOf(kind, env), keyFileOf(kind, env, file)]
    databases.push({ of, url, keyFile })
  }
  const store = withImages && gateway !== undefined ? await storeOf(gateway) : undefined
  return { databases, store }
}

function subjectOf(kind: BackupSubject['kind'], env: Env): BackupSubject {
  if (kind === 'gateway') return { kind }
  const own = Object.entries(env).filter(([name]) => name === 'CELL_ID' || name === 'CELL_NAME')
  const read = new EnvReader(Object.fromEntries(own), 'CELL_')
  const of = { kind, id: read.text('ID'), name: read.text('NAME') }
  read.finish()
  return of
}

function keyFileOf(kind: BackupSubject['kind'], env: Env, file: string): string {
  const name = kind === 'gateway' ? 'GATEWAY_SECRET_KEY_FILE' : 'CELL_SECRET_KEY_FILE'
  const keyFile = env[name]
  if (keyFile !== undefined) return keyFile
  throw new Failure(
    'invalid',
    `${file} does not set ${name}. A backup can only be restored with the same key: put the key into a file of its own.`,
  )
}
