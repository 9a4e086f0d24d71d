import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { CloudHost } from '#test/env/cloud/cloud-host.ts'
import type { Cloud } from '#test/env/cloud.ts'
import { CUT_OFF, FailingHost, POWER_LOSS, startFencingCells } from '#test/env/failing-host.ts'
import { FileMachines } from '#test/env/file-machines.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { expectInvariants } from '#test/env/invariants.ts'
import {
  type CommitKind,
  type DeathAt,
  deathsAt,
  type SeenCommit,
  WatchedCommits,
} from '#test/env/watched-commits.ts'

// Goal: whichever process is killed while a host is fenced and evacuated, of the cell or a gateway, the host is fenced once,
// and each of its servers runs once, on another host.

const LIMIT_MS = 240_000
const TEST_MS = 300_000
const LEFT_ALONE = 'the host is left alone'
const FENCED = 'the host is fenced'
const MOVE = 'a step of the move of a server'
const BACK = 'the host is back'

/** The commit by which the cell says that the host is off, as its gateways are told in it. */
function ofFencing({ tables, text }: SeenCommit): string | undefined {
  return tables.has('hosts') && /fencedAt\\?":\d/.test(text) ? FENCED : undefined
}

/** The commits of a cell from which the first of its hosts is to stop its guests by itself, until it is back. */
function ofSelfFencing({ tables, text }: SeenCommit): string | undefined {
  if (tables.has('sagas')) return MOVE
  if (!tables.has('hosts')) return undefined
  if (text.includes('the cell has left it alone')) return LEFT_ALONE
  if (ofFencing({ tables, text }) !== undefined) return FENCED
  return /"name\\?":\\?"[a-z]+-1\\?"/.test(text) && /"isUp\\?":true/.test(text) ? BACK : undefined
}

/** All by which a gateway has the servers of the host built again, with the sagas of that. */
const EVACUATION: readonly CommitKind[] = [
  // It begins, and so does each move in its turn; its progress is noted until it ends.
  { name: 'operations', count: 3 },
  { name: 'drain_moves, operations, sagas', count: 2 },
  // A move has ended.
  { name: 'drain_moves', count: 2 },
  { name: 'sagas', count: 2 },
]
const TABLES = ['drain_moves', 'operations', 'sagas']

const isElsewhere = (failing: FailingHost) => (host: CloudHost) => host !== failing.host

/** `death` is that of a process which has the host evacuated, or of one which has it back. */
async function trial(
  failing: FailingHost,
  commits: WatchedCommits,
  death?: DeathAt,
): Promise<boolean> {
  const isOfReturn = death?.name === BACK
  const ids = await failing.servers()
  return failing.watched(async () => {
    const gone = await commits.during(() => failing.evacuated(), isOfReturn ? undefined : death)
    await failing.expectEvacuated(ids, gone.result)
    const seen = new Map(commits.seen)
    const back = await commits.during(() => failing.returned(), isOfReturn ? death : undefined)
    for (const [name, count] of seen) commits.seen.set(name, count)
    await expectInvariants(failing.cloud, LIMIT_MS)
    await failing.expectOnce(ids, isElsewhere(failing))
    return gone.hasDied || back.hasDied
  })
}

describe('a host with a fence device', () => {
  let machines: FileMachines
  let cloud: Cloud
  let failing: FailingHost
  let ofCell: WatchedCommits
  let ofGateway: WatchedCommits

  beforeAll(async () => {
    machines = new FileMachines(['north-1'])
    cloud = await startFencingCells(1, machines.settings)
    const cell = cloud.cell('north')
    failing = new FailingHost(cloud, cell, POWER_LOSS)
    ofCell = await WatchedCommits.of(cell.processes, 'CELL_DATABASE_URL', ofFencing)
    ofGateway = await WatchedCommits.of(cloud.gateways, 'GATEWAY_DATABASE_URL', TABLES)
    await cloud.waitUntilWhole()
  })
  afterEach(async () => {
    machines.switchOn('north-1')
    if (!failing.host.process.isRunning) await failing.host.process.start()
  })
  afterAll(async () => {
    await cloud?.[Symbol.asyncDispose]()
    machines[Symbol.dispose]()
  })

  test(
    'is evacuated by commits that change these tables',
    async () => {
      await trial(failing, ofGateway)

      expect(new Set(ofGateway.seen.keys())).toEqual(new Set(EVACUATION.map(({ name }) => name)))
      for (const { name, count } of EVACUATION)
        expect(ofGateway.seen.get(name), name).toBeGreaterThanOrEqual(count)
    },
    TEST_MS,
  )

  test.each<DeathAt>(
    isFullRun ? deathsAt(EVACUATION) : [{ name: 'operations', nth: 1, when: 'after' }],
  )(
    'is evacuated by the next gateway when one is killed $when commit $nth of $name',
    async (death) => {
      expect(await trial(failing, ofGateway, death)).toBe(true)
    },
    TEST_MS,
  )

  test.each<DeathAt>(
    isFullRun ? deathsAt([{ name: FENCED, count: 1 }]) : [{ name: FENCED, nth: 1, when: 'after' }],
  )(
    'is fenced by the other process of the cell when one is killed $when that commit',
    async (death) => {
      expect(await trial(failing, ofCell, death)).toBe(true)
      expect(machines.isOn('north-1')).toBe(false)
    },
    TEST_MS,
  )
})

/** So many trials at a time, in a cell each: most of their time is the minute in which a host stops its guests. */
const CELLS = 4
const OF_SELF_FENCING = deathsAt([
  { name: LEFT_ALONE, count: 1 },
  { name: FENCED, count: 1 },
  { name: MOVE, count: 6 },
  { name: BACK, count: 1 },
])

function batches(deaths: readonly DeathAt[]): readonly (readonly DeathAt[])[] {
  const starts = deaths.map((_, nth) => nth).filter((nth) => nth % CELLS === 0)
  return starts.map((start) => deaths.slice(start, start + CELLS))
}

describe.skipIf(!isFullRun)('hosts that stop their guests by themselves', () => {
  let cloud: Cloud
  let hosts: readonly { readonly failing: FailingHost; readonly commits: WatchedCommits }[]

  beforeAll(async () => {
    cloud = await startFencingCells(CELLS, { CELL_SELF_FENCING: 'true', CELL_FENCE_AFTER_S: '30' })
    hosts = await Promise.all(
      cloud.cells.map(async (cell) => ({
        failing: new FailingHost(cloud, cell, CUT_OFF),
        commits: await WatchedCommits.of(cell.processes, 'CELL_DATABASE_URL', ofSelfFencing),
      })),
    )
    await cloud.waitUntilWhole()
  })
  afterAll(() => cloud?.[Symbol.asyncDispose]())

  test.each(batches(deathsAt([{ name: LEFT_ALONE, count: 1 }])).map((deaths) => ({ deaths })))(
    'keep their servers where they are heard again, when the process of their cell dies that has left them alone',
    async ({ deaths }) => {
      await Promise.all(
        deaths.map(async (death, nth) => {
          const { failing, commits } = hosts[nth]!
          const ids = await failing.servers()
          const { hasDied } = await commits.during(() => failing.heardAgain(), death)
          expect(hasDied).toBe(true)
          await expectInvariants(cloud, LIMIT_MS)
          await failing.expectOnce(ids, (host) => host === failing.host)
        }),
      )
    },
    TEST_MS,
  )

  test.each(
    batches(OF_SELF_FENCING).map((deaths) => ({
      deaths,
      when: deaths.map(({ name, nth, when }) => `${when} commit ${nth} of ${name}`).join(', '),
    })),
  )(
    'are evacuated once, and come back, when a process of each of their cells dies: $when',
    async ({ deaths }) => {
      const haveDied = await Promise.all(
        deaths.map((death, nth) => trial(hosts[nth]!.failing, hosts[nth]!.commits, death)),
      )
      expect(haveDied).toEqual(deaths.map(() => true))
    },
    TEST_MS,
  )
})
