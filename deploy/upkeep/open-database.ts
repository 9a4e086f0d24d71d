import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Database } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { Layout } from '../deployment/layout.ts'

const CONNECTIONS = 2

/** A database of this deployment, by the name `up` gave it; it must run. */
export function openDatabase(layout: Layout, name: string): Database {
  const file = join(layout.secrets, `${name}.url`)
  if (!existsSync(file))
    throw new Failure('not-found', 'This deployment has no database yet. Run: ./weir up')
  return new Database({ url: readFileSync(file, 'utf8').trimEnd(), connectionsMax: CONNECTIONS })
}
