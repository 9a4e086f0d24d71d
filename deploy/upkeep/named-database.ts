import type { Env } from '#common/env.ts'
import { EnvReader } from '#common/env.ts'
import { Failure } from '#common/errors.ts'
import { readEnvFile } from '../config/env-file.ts'
import { migrationsOf } from './backup-file.ts'

/** A database that settings name, and the migrations that it is to have. */
export interface NamedDatabase {
  readonly kind: 'gateway' | 'cell'
  readonly url: string
  readonly migrationsFolder: string
}

const PREFIXES = { gateway: 'GATEWAY_', cell: 'CELL_' } as const

/**
 * The database of a gateway's or a cell's settings: those of the file, or else of the environment. Throws `invalid` where
 * they name none, or that of a gateway and that of a cell.
 */
export function namedDatabase(file: string | undefined, environment: Env): NamedDatabase {
  const env = file === undefined ? environment : readEnvFile(file)
  const found = (['gateway', 'cell'] as const).flatMap((kind) => {
    const url = databaseUrlIn(env, PREFIXES[kind])
    return url === undefined ? [] : [{ kind, url, migrationsFolder: migrationsOf(kind) }]
  })
  const [only, other] = found
  if (only !== undefined && other === undefined) return only
  const where = file ?? 'The environment'
  throw new Failure(
    'invalid',
    only === undefined
      ? `${where} names no database. Name a file with GATEWAY_DATABASE_URL or CELL_DATABASE_URL: --env-file FILE`
      : `${where} names the database of a gateway and that of a cell. Name a file that has one of them: --env-file FILE`,
  )
}

function databaseUrlIn(env: Env, prefix: string): string | undefined {
  const own = Object.entries(env).filter(([name]) => name.startsWith(`${prefix}DATABASE_URL`))
  const read = new EnvReader(Object.fromEntries(own), prefix)
  const url = read.optionalSecret('DATABASE_URL')
  read.finish()
  return url
}
