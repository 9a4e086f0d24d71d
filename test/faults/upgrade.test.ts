import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import { migrateDatabase } from '#common/db/migrate.ts'
import { readRelease } from '#common/release.ts'
import { projectRoot } from '#deploy/paths.ts'
import { copyTree } from '#deploy/release/tree.ts'
import type { CloudProcess } from '../env/cloud/cloud-process.ts'
import { type Cloud, startCloud } from '../env/cloud.ts'
import { isFullRun } from '../env/full-run.ts'
import { SteadyLoad } from '../env/steady-load.ts'

// Goal: a release takes the place of another process by process, and the other way round, while users boot servers, and
// costs them nothing but time. The next release is this one with migrations: one that adds, and one that takes away what
// only the former release needed.

const NEXT = '9.0.0'
const LAY_MS = 300_000
const ROLL_MS = 600_000
const BOOTS = 5

interface Journal {
  readonly entries: {
    idx: number
    version: string
    when: number
    tag: string
    breakpoints: boolean
  }[]
}

interface CellAnswer {
  readonly summary: { readonly release: string }
}

describe.skipIf(!isFullRun)('a release', () => {
  const next = mkdtempSync(join(tmpdir(), 'weir-next-'))
  let cloud: Cloud
  let load: SteadyLoad

  beforeAll(async () => {
    await copyTree(next)
    const file = join(next, 'package.json')
    const text = readFileSync(file, 'utf8')
    writeFileSync(file, text.replace(/"version": "[^"]+"/, `"version": "${NEXT}"`))
    for (const component of ['gateway', 'cells'])
      addMigration(component, 'expand', 'ALTER TABLE `upgrade_trial` ADD `added` int;')
    cloud = await startCloud({
      gateways: 2,
      cells: 1,
      processesPerCell: 2,
      hostsPerCell: 1,
      outside: ['gateway', 'cell'],
    })
    for (const url of databases()) {
      await using db = new Database({ url, connectionsMax: 1 })
      await db.orm.execute(sql`CREATE TABLE upgrade_trial (kept int)`)
    }
    load = await SteadyLoad.begin(cloud)
    await load.untilBooted(BOOTS)
  }, LAY_MS)

  afterAll(async () => {
    await load?.end()
    await cloud?.[Symbol.asyncDispose]()
    rmSync(next, { recursive: true, force: true })
  }, LAY_MS)

  function databases(): readonly string[] {
    const { databaseUrl, cells } = cloud.foundation
    return [databaseUrl, ...cells.map((cell) => cell.databaseUrl)]
  }

  function addMigration(component: string, tag: string, text: string): void {
    const folder = join(next, component, 'db/migrations')
    const file = join(folder, 'meta/_journal.json')
    const journal = JSON.parse(readFileSync(file, 'utf8')) as Journal
    const { idx, when, ...rest } = journal.entries.at(-1)!
    const name = `${String(idx + 1).padStart(4, '0')}_${tag}`
    journal.entries.push({ ...rest, idx: idx + 1, when: when + 1, tag: name })
    writeFileSync(file, JSON.stringify(journal))
    writeFileSync(join(folder, `${name}.sql`), text)
  }

  async function migrate(): Promise<void> {
    const [globalUrl = '', ...cells] = databases()
    await migrateDatabase(globalUrl, join(next, 'gateway/db/migrations'))
    for (const url of cells) await migrateDatabase(url, join(next, 'cells/db/migrations'))
  }

  async function columns(url: string): Promise<readonly string[]> {
    await using db = new Database({ url, connectionsMax: 1 })
    const [rows] = (await db.orm.execute(sql`SHOW COLUMNS FROM upgrade_trial`)) as unknown as [
      readonly { readonly Field: string }[],
    ]
    return rows.map(({ Field }) => Field)
  }

  async function replace(process: CloudProcess, root: string): Promise<void> {
    await process.stop()
    process.runFrom(root)
    await process.start()
  }

  /** Gateways first, each of which a proxy would pass over meanwhile; then the processes of cells. */
  async function roll(root: string): Promise<void> {
    for (const [place, gateway] of cloud.gateways.entries()) {
      cloud.forget(place)
      await load.untilGone()
      await replace(gateway, root)
      cloud.remember(place)
      await load.untilBooted(BOOTS)
    }
    for (const { processes } of cloud.cells)
      for (const process of processes) {
        await replace(process, root)
        await load.untilBooted(BOOTS)
      }
    await cloud.waitUntilWhole()
  }

  /** The releases that gateways and cells say they run, each once. */
  async function releases(): Promise<readonly string[]> {
    const gateways = await Promise.all(
      cloud.endpoints.map(async (endpoint) => {
        const answer = await fetch(`${endpoint}/version`)
        return ((await answer.json()) as { version: string }).version
      }),
    )
    const { body } = await cloud
      .as('admin')
      .get<{ cells: readonly CellAnswer[] }>('/federation/v1/cells')
    return [...new Set([...gateways, ...body.cells.map(({ summary }) => summary.release)])]
  }

  test(
    'is followed by the next one',
    async () => {
      await migrate()
      await roll(next)

      await expect.poll(releases).toEqual([NEXT])
      expect(load.refused).toEqual([])
    },
    ROLL_MS,
  )

  test(
    'comes back, as long as nothing that it needs was taken away',
    async () => {
      await roll(projectRoot)

      await expect.poll(releases).toEqual([readRelease()])
      expect(load.refused).toEqual([])
    },
    ROLL_MS,
  )

  test(
    'is gone once the next one has taken away what only the former needed',
    async () => {
      await roll(next)
      for (const component of ['gateway', 'cells'])
        addMigration(component, 'contract', 'ALTER TABLE `upgrade_trial` DROP `kept`;')
      await migrate()
      await load.untilBooted(BOOTS)

      for (const url of databases()) expect(await columns(url)).toEqual(['added'])
      expect(load.refused).toEqual([])
    },
    ROLL_MS,
  )
})
