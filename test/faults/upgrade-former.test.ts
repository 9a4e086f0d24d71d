import { sql } from 'drizzle-orm'
import { describe, expect, test } from 'vitest'
import { createLogger } from '#common/log.ts'
import { beforeNewestMigration, FormerTree } from '../env/former-tree.ts'
import { isFullRun } from '../env/full-run.ts'
import { ReleasedTree } from '../env/released-tree.ts'
import { DATABASES, namesIn, ORDER, RolledDeployment } from '../env/rolled-deployment.ts'

// Goal: the newest migrations leave the release before them at work: this release replaces the commit before them process by
// process, and gives way to it again, while users boot servers, who notice nothing but latency. WEIR_UPGRADE_FROM names an
// earlier commit.

const NEXT = '9.0.0'
const TRIAL_MS = 1_200_000
const BOOTS = 5
const FORMER = process.env['WEIR_UPGRADE_FROM'] ?? beforeNewestMigration()

const log = createLogger('upgrade-former', 'info')

describe.skipIf(!isFullRun || FORMER === undefined)(
  'the commit before the newest migrations',
  () => {
    test(
      'is replaced by this release, comes back on its databases, and is replaced again',
      async () => {
        using former = FormerTree.lay(FORMER!)
        using next = await ReleasedTree.lay(NEXT)
        await using deployment = await RolledDeployment.up(former.directory)
        const { checkout } = deployment
        const before = await migrations(deployment)
        const load = await deployment.beginLoad()
        await load.untilBooted(BOOTS)
        const roll = async (to: string, ...args: readonly string[]) => {
          checkout.runFrom(to)
          const figures = await load.during(async () => {
            const said = await checkout.succeed('upgrade', 'run', '--watch', '2', ...args)
            expect(namesIn(said).toSorted()).toEqual(ORDER.toSorted())
            await load.untilBooted(BOOTS)
          })
          log.info(figures, 'replaced under load')
          expect(await deployment.folders()).toEqual(new Set([to]))
          expect(load.refused).toEqual([])
        }

        await roll(next.directory)
        const after = await migrations(deployment)
        expect(after.reduce((sum, n) => sum + n)).toBeGreaterThan(
          before.reduce((sum, n) => sum + n),
        )
        await roll(former.directory, '--back')
        expect(await migrations(deployment)).toEqual(after)
        await roll(next.directory, '--no-backup')
      },
      TRIAL_MS,
    )
  },
)

/** How many each database has had. */
async function migrations(deployment: RolledDeployment): Promise<readonly number[]> {
  const counts: number[] = []
  for (const name of DATABASES) {
    await using db = deployment.open(name)
    const [rows] = (await db.orm.execute(
      sql`SELECT count(*) AS n FROM __drizzle_migrations`,
    )) as unknown as [readonly { readonly n: number }[]]
    counts.push(Number(rows[0]?.n))
  }
  return counts
}
