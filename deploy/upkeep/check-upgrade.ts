import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import type { Database } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { components } from '#openapi/federation.gen.ts'
import { callApi, signIn } from '../api/session.ts'
import { cloudAccount } from '../deployment/clouds-file.ts'
import type { Layout } from '../deployment/layout.ts'
import { existingState } from '../deployment/state.ts'
import { examineUpgrade } from '../doctor/examine-upgrade.ts'
import type { Finding } from '../doctor/finding.ts'
import { endpointOf } from '../up/exposed.ts'
import { cellDatabase } from '../up/prepare-databases.ts'
import { migrationsOf } from './backup-file.ts'
import { openDatabase } from './open-database.ts'

/** Of the migrations, as drizzle keeps it. */
interface Journal {
  readonly entries: readonly { readonly when: number; readonly tag: string }[]
}

/** Whether this checkout can go on where another release was, as the running deployment reports. Changes nothing. */
export async function checkUpgrade(layout: Layout): Promise<readonly Finding[]> {
  const state = existingState(layout)
  if (state.gateways.length === 0)
    throw new Failure('invalid', 'There is no gateway here. Run it where the gateways are.')
  const admin = await signIn(endpointOf(state), cloudAccount(layout, 'weir-admin'))
  const ask = <Answer>(path: string) => callApi<Answer>(admin, { method: 'GET', path })
  const { version } = await ask<{ version: string }>('/version')
  const { cells } = await ask<{ cells: components['schemas']['Cell'][] }>('/federation/v1/cells')
  const databases: Finding[] = []
  {
    await using db = openDatabase(layout, 'weir')
    databases.push(await examineTables('the global database', db, 'gateway'))
  }
  for (const { name } of state.cells) {
    await using db = openDatabase(layout, cellDatabase(name))
    databases.push(await examineTables(`the database of cell ${name}`, db, 'cell'))
  }
  return [...examineUpgrade(version, cells), ...databases]
}

async function examineTables(
  what: string,
  db: Database,
  kind: 'gateway' | 'cell',
): Promise<Finding> {
  const file = join(migrationsOf(kind), 'meta', '_journal.json')
  const { entries } = JSON.parse(readFileSync(file, 'utf8')) as Journal
  const [[applied]] = (await db.orm.execute(
    sql`select max(created_at) as newest from __drizzle_migrations`,
  )) as unknown as [[{ readonly newest: number | string | null }]]
  const newest = Number(applied?.newest ?? 0)
  const own = entries.at(-1)?.when ?? 0
  if (newest > own)
    return {
      is: 'bad',
      what: `${what} was migrated by a newer release, which this one cannot check: see docs/how-to/upgrade.md`,
    }
  const due = entries.filter(({ when }) => when > newest).length
  if (due === 0) return { is: 'ok', what: `${what} has every table of this release` }
  return {
    is: 'note',
    what: `${what} gets ${due} migrations: back it up first (./weir backup run)`,
  }
}
