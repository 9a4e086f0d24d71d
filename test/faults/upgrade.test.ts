import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import { readRelease } from '#common/release.ts'
import { callApi, type Session } from '#deploy/api/session.ts'
import { startProxy } from '#deploy/haproxy/haproxy.ts'
import { projectRoot } from '#deploy/paths.ts'
import { freePort } from '#deploy/process/free-port.ts'
import { stopProcess } from '#deploy/process/stop-process.ts'
import { backupHeader, openBackup } from '#deploy/upkeep/backup-file.ts'
import { ApiClient } from '../env/api/client.ts'
import { Checkout } from '../env/checkout.ts'
import { isFullRun } from '../env/full-run.ts'
import { ReleasedTree } from '../env/released-tree.ts'
import { type LoadedCloud, SteadyLoad } from '../env/steady-load.ts'

// Goal: `./weir upgrade run` replaces a release by another process by process, and the other way round, while users boot
// servers through a proxy, and costs them nothing but time; it stops where a new process is no good. The next release is
// this one with migrations: one that adds, and one that takes away what only the former release needed.

const NEXT = '9.0.0'
const LAY_MS = 300_000
const ROLL_MS = 600_000
const BOOTS = 5
const CELLS = ['north', 'south']
const DATABASES = ['weir', ...CELLS.map((name) => `weir_cell_${name}`)]
const UP = ['--driver', 'fake', '--gateways', '2', '--cells', '2', '--hosts', '1']
const ORDER = [
  'gateway-1',
  'gateway-2',
  'cell-north',
  'cell-south',
  'compute-north-1',
  'compute-south-1',
]

describe.skipIf(!isFullRun)('a release', () => {
  const owned = new AsyncDisposableStack()
  let next: ReleasedTree
  let checkout: Checkout
  let load: SteadyLoad
  /** While it exists, no cell of the next release starts. */
  let obstacle: string

  beforeAll(async () => {
    next = owned.use(await ReleasedTree.lay(NEXT))
    next.addMigration('expand', 'ALTER TABLE `upgrade_trial` ADD `added` int;')
    checkout = owned.use(new Checkout())
    await checkout.succeed('up', ...UP)
    obstacle = join(checkout.home, 'obstacle')
    next.edit(
      'cells/main.ts',
      (content) =>
        `import { existsSync } from 'node:fs'\nif (existsSync('${obstacle}')) throw new Error('An obstacle is in the way')\n${content}`,
    )
    for (const name of DATABASES) {
      await using db = open(name)
      await db.orm.execute(sql`CREATE TABLE upgrade_trial (kept int)`)
    }
    load = await SteadyLoad.begin(await loadedCloud(), await proxy())
    await load.untilBooted(BOOTS)
  }, LAY_MS)

  afterAll(async () => {
    await load?.end()
    await owned.disposeAsync()
  }, LAY_MS)

  function open(name: string): Database {
    const url = readFileSync(join(checkout.home, 'secrets', `${name}.url`), 'utf8').trim()
    return new Database({ url, connectionsMax: 1 })
  }

  const ports = () => {
    const state = JSON.parse(readFileSync(join(checkout.home, 'state.json'), 'utf8'))
    return (state as { gateways: readonly { port: number }[] }).gateways.map(({ port }) => port)
  }
  const origins = () => ports().map((port) => `http://127.0.0.1:${port}`)

  async function proxy(): Promise<string> {
    const port = await freePort()
    const gateways = ports().map((each) => `127.0.0.1:${each}`)
    const folder = join(checkout.home, 'haproxy')
    const identity = await startProxy(folder, { host: '127.0.0.1', port, gateways }, 'with-parent')
    owned.defer(() => stopProcess(identity))
    return `http://127.0.0.1:${port}`
  }

  async function loadedCloud(): Promise<LoadedCloud> {
    const account = (name: 'weir' | 'weir-admin') => {
      const { username, password, project_name: project } = checkout.cloud(name)
      return { user: username, password, project }
    }
    const accounts = { demo: account('weir') }
    const clients = {
      admin: owned.use(new ApiClient(account('weir-admin'), origins)),
      demo: owned.use(new ApiClient(accounts.demo, origins)),
    }
    const session = await checkout.signIn('weir')
    const idOf = async (path: string, list: string, name: string) => idIn(session, path, list, name)
    const tiny = await idOf('/compute/v2.1/flavors', 'flavors', 'm1.tiny')
    return {
      as: (who) => clients[who as 'admin' | 'demo'],
      projectId: async (name) => {
        const { body } = await clients.admin.get<{ projects: readonly [{ id: string }] }>(
          `/identity/v3/projects?name=${name}`,
        )
        return body.projects[0].id
      },
      foundation: { accounts },
      catalog: {
        image: await idOf('/image/v2/images', 'images', 'tiny'),
        network: await idOf('/networking/v2.0/networks', 'networks', 'private'),
        tiny,
        small: tiny,
      },
    }
  }

  /** Also of the processes themselves. */
  async function releases(): Promise<readonly string[]> {
    const gateways = await Promise.all(
      origins().map(async (origin) => {
        const answer = await fetch(`${origin}/version`)
        return ((await answer.json()) as { version: string }).version
      }),
    )
    const { cells } = await callApi<{
      cells: readonly { readonly summary: { readonly release: string } }[]
    }>(await checkout.signIn('weir-admin'), { method: 'GET', path: '/federation/v1/cells' })
    return [...new Set([...gateways, ...cells.map(({ summary }) => summary.release)])]
  }

  async function folders(): Promise<ReadonlySet<string>> {
    const pids = await checkout.processes()
    const programs = [...pids].filter(([name]) => ORDER.includes(name))
    const all = [...programs.map(([, pid]) => pid), checkout.supervisorPid()]
    expect(all).toHaveLength(ORDER.length + 1)
    return new Set(all.map((pid) => readlinkSync(`/proc/${pid}/cwd`)))
  }

  /** The names of processes, in the order in which lines of this text begin with them. */
  function namesIn(said: string): readonly string[] {
    return said
      .split('\n')
      .flatMap((line) => ORDER.find((name) => line.startsWith(`${name} `)) ?? [])
  }

  async function columns(name: string): Promise<readonly string[]> {
    await using db = open(name)
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
      expect(await releases()).toEqual([NEXT, readRelease()])
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

      await expect.poll(releases).toEqual([NEXT])
      expect(await folders()).toEqual(new Set([next.directory]))
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

      await expect.poll(releases).toEqual([readRelease()])
      expect(await folders()).toEqual(new Set([projectRoot]))
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

async function idIn(session: Session, path: string, list: string, name: string): Promise<string> {
  const answer = await callApi<Readonly<Record<string, readonly { id: string; name: string }[]>>>(
    session,
    { method: 'GET', path },
  )
  const found = answer[list]?.find((each) => each.name === name)
  if (found === undefined) throw new Error(`There is no ${name} among the ${list}`)
  return found.id
}
