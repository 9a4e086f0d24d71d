import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import type { components } from '#openapi/federation.gen.ts'
import { callApi, signIn } from '../api/session.ts'
import { cloudAccount } from '../deployment/clouds-file.ts'
import type { Layout } from '../deployment/layout.ts'
import { type DeploymentState, existingState } from '../deployment/state.ts'
import { examineUpgrade } from '../doctor/examine-upgrade.ts'
import type { Finding } from '../doctor/finding.ts'
import { endpointOf } from '../up/exposed.ts'
import { cellDatabase } from '../up/prepare-databases.ts'
import { migrationsOf } from '../upkeep/backup-file.ts'
import { openDatabase } from '../upkeep/open-database.ts'

/** Of the migrations, as drizzle keeps it. */
interface Journal {
  readonly entries: readonly { readonly when: number; readonly tag: string }[]
}

/**
 * Whether the release of this folder can go on where another one was, as the running deployment reports. `isBack`: it is
 * the former one. Changes nothing.
 */
export async function checkUpgrade(layout: Layout, isBack: boolean): Promise<readonly Finding[]> {
  const state = existingState(layout)
  const findings = state.gateways.length === 0 ? [] : await examineGateways(layout, state)
  const databases = [
    ...(state.gateways.length === 0 ? [] : [['the global database', 'weir', 'gateway'] as const]),
    ...state.cells.map(
      ({ name }) => [`the database of cell ${name}`, cellDatabase(name), 'cell'] as const,
    ),
  ]
  const tables: Finding[] = []
  for (const [what, name, kind] of databases) {
    await using db = openDatabase(layout, name)
    const [[applied]] = (await db.orm.execute(
      sql`select max(created_at) as newest from __drizzle_migrations`,
    )) as unknown as [[{ readonly newest: number | string | null }]]
    tables.push(examineTables(what, kind, { newest: Number(applied?.newest ?? 0), isBack }))
  }
  return [...findings, ...tables]
}

async function examineGateways(
  layout: Layout,
  state: DeploymentState,
): Promise<readonly Finding[]> {
  const admin = await signIn(endpointOf(state), cloudAccount(layout, 'weir-admin'))
  const ask = <Answer>(path: string) => callApi<Answer>(admin, { method: 'GET', path })
  const { version } = await ask<{ version: string }>('/version')
  const { cells } = await ask<{ cells: components['schemas']['Cell'][] }>('/federation/v1/cells')
  return examineUpgrade(version, cells)
}

/** `newest`: the time of the newest migration that the database has. */
export function examineTables(
  what: string,
  kind: 'gateway' | 'cell',
  { newest, isBack }: { readonly newest: number; readonly isBack: boolean },
): Finding {
  const file = join(migrationsOf(kind), 'meta', '_journal.json')
  const { entries } = JSON.parse(readFileSync(file, 'utf8')) as Journal
  const own = entries.at(-1)?.when ?? 0
  if (newest > own)
    return isBack
      ? { is: 'note', what: `${what} keeps the tables of the newer release` }
      : {
          is: 'bad',
          what: `${what} was migrated by a newer release, which this one cannot check: see docs/how-to/upgrade.md`,
        }
  const due = entries.filter(({ when }) => when > newest).length
  if (due === 0) return { is: 'ok', what: `${what} has every table of this release` }
  return { is: 'note', what: `${what} gets ${due} migrations` }
}
