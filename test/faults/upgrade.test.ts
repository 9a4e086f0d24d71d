import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readRelease } from '#common/release.ts'
import { projectRoot } from '#deploy/paths.ts'
import { backupHeader, openBackup } from '#deploy/upkeep/backup-file.ts'
import type { Checkout } from '../env/checkout.ts'
import { isFullRun } from '../env/full-run.ts'
import { ReleasedTree } from '../env/released-tree.ts'
import { DATABASES, namesIn, ORDER, RolledDeployment } from '../env/rolled-deployment.ts'
import type { SteadyLoad } from '../env/steady-load.ts'

// Goal: `./weir upgrade run` replaces a release by another process by process, and the other way round, while users boot
// servers through a proxy, and costs them nothing but time; it stops where a new process is no good. The next release is
// this one with migrations: one that adds, and one that takes away what only the former release needed.

const NEXT = '9.0.0'
const LAY_MS = 300_000
const ROLL_MS = 600_000
const BOOTS = 5

describe.skipIf(!isFullRun)('a release', () => {
  const owned = new AsyncDisposableStack()
  let next: ReleasedTree
  let deployment: RolledDeployment
  let checkout: Checkout
  let load: SteadyLoad
  /** While it exists, no cell of the next release starts. */
  let obstacle: string

  beforeAll(async () => {
    next = owned.use(await ReleasedTree.lay(NEXT))
    next.addMigration('expand', 'ALTER TABLE `upgrade_trial` ADD `added` int;')
    deployment = owned.use(await RolledDeployment.up(projectRoot))
    checkout = deployment.checkout
    obstacle = join(checkout.home, 'obstacle')
    next.edit(
      'cells/main.ts',
      (content) =>
        `import { existsSync } from 'node:fs'\nif (existsSync('${obstacle}')) throw new Error('An obstacle is in the way')\n${content}`,
    )
    for (const name of DATABASES) {
      await using db = deployment.open(name)
      await db.orm.execute(sql`CREATE TABLE upgrade_trial (kept int)`)
    }
    load = await deployment.beginLoad()
    await load.untilBooted(BOOTS)
  }, LAY_MS)

  afterAll(() => owned.disposeAsync(), LAY_MS)

  async function columns(name: string): Promise<readonly string[]> {
    await using db = deployment.open(name)
    const [rows] = (await db.orm.execute(sql`SHOW COLUMNS FROM upgrade_trial`)) as unknown as [
      readonly { readonly Field: string }[],
    ]
    return rows.map(({ Field }) => Field)
  }

  test('shows what the next one would replace, and changes nothing', async () => {
    const before = await checkout.processes()
    checkout.runFrom(next.directory)

    const said = await checkout.succeed('upgrade', 'run', '--dry-run')

    expect(namesIn(said)).toEqual(ORDER)
    expect(said).toContain(`runs ${readRelease()}, is replaced by ${NEXT}`)
    expect(await checkout.processes()).toEqual(before)
    expect(await columns('weir')).toEqual(['kept'])
  })

  test(
    'stays where the next one does not start',
    async () => {
      writeFileSync(obstacle, '')

      const { code, stdout, stderr } = await checkout.weir('upgrade', 'run', '--watch', '2')

      expect(code).toBe(1)
      expect(namesIn(stdout)).toEqual(['gateway-1', 'gateway-2'])
      expect(stderr).toContain('The upgrade stopped at cell-north: cell-north ended')
      expect(stderr).toContain('An obstacle is in the way')
      expect(stderr).toContain(`cell-north runs ${readRelease()} again.`)
      expect(stderr).toContain(
        'Replaced: gateway-1, gateway-2. Not replaced: cell-south, compute-north-1, compute-south-1.',
      )
      expect(stderr).toContain(`cd ${projectRoot} && WEIR_HOME=${checkout.home} ./weir upgrade run`)
      await load.untilBooted(BOOTS)
      expect(await deployment.releases()).toEqual([NEXT, readRelease()])
      expect(load.refused).toEqual([])
    },
    ROLL_MS,
  )

  test(
    'is followed by the next one, which goes on where it stopped',
    async () => {
      rmSync(obstacle)

      const figures = await load.during(async () => {
        const said = await checkout.succeed('upgrade', 'run', '--watch', '2')
        expect(namesIn(said)).toEqual(ORDER)
        expect(said.match(/ already$/gm)).toHaveLength(2)
      })
      process.stdout.write(`${JSON.stringify(figures)}\n`)

      await expect.poll(() => deployment.releases()).toEqual([NEXT])
      expect(await deployment.folders()).toEqual(new Set([next.directory]))
      for (const name of DATABASES) expect(await columns(name)).toEqual(['kept', 'added'])
      expect(load.refused).toEqual([])
    },
    ROLL_MS,
  )

  test('was backed up before, so that it could be restored', async () => {
    const backups = join(checkout.home, 'backups')
    const sets = readdirSync(backups).filter((name) =>
      existsSync(join(backups, name, 'gateway.backup')),
    )
    expect(sets).toHaveLength(1)
    const { header } = await openBackup(join(backups, sets[0]!, 'gateway.backup'))

    const own = backupHeader({ kind: 'gateway' }, join(checkout.home, 'secrets/gateway.key'))

    expect(header).toEqual({ ...own, takenAt: header.takenAt })
  })

  test(
    'comes back, as long as nothing that it needs was taken away',
    async () => {
      checkout.runFrom(projectRoot)
      const { stderr } = await checkout.weir('upgrade', 'run')
      expect(stderr).toContain('Nothing was changed')

      const figures = await load.during(async () => {
        const said = await checkout.succeed('upgrade', 'run', '--back', '--watch', '2')
        expect(namesIn(said)).toEqual([
          ...ORDER.slice(4),
          ...ORDER.slice(2, 4),
          ...ORDER.slice(0, 2),
        ])
      })
      process.stdout.write(`${JSON.stringify(figures)}\n`)

      await expect.poll(() => deployment.releases()).toEqual([readRelease()])
      expect(await deployment.folders()).toEqual(new Set([projectRoot]))
      expect(load.refused).toEqual([])
    },
    ROLL_MS,
  )

  test(
    'is gone once the next one has taken away what only the former needed',
    async () => {
      checkout.runFrom(next.directory)
      await checkout.succeed('upgrade', 'run', '--no-backup', '--watch', '2')
      next.addMigration('contract', 'ALTER TABLE `upgrade_trial` DROP `kept`;')

      await checkout.succeed('upgrade', 'run', '--no-backup')
      await load.untilBooted(BOOTS)

      for (const name of DATABASES) expect(await columns(name)).toEqual(['added'])
      expect(load.refused).toEqual([])
    },
    ROLL_MS,
  )
})
