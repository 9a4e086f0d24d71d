import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { Failure } from '#common/errors.ts'
import { waitFor } from '#common/wait-for.ts'
import type { CellAsk } from '#openapi/wire/cell.ts'
import { CoreEnv, NO_IMAGES, orderFor, work } from '#test/env/compute-core.ts'
import { KilledDatabase } from '#test/env/killed-database.ts'
import type { ScriptedCell } from '#test/env/scripted-cell.ts'
import { beginBackup, deferBackup, endProtection, takeDue } from '../../db/due-backups.ts'
import { serverProtections } from '../../db/schema/protections.ts'
import {
  putProtection,
  removeProtection,
  type ServerProtection,
} from '../../db/server-protections.ts'
import type { RunningCompute } from '../open-compute.ts'
import { startServers } from '../servers/boot/start-servers.ts'

// Goal: a backup that is due is made once, and a schedule knows of it whatever becomes of the gateway that was to make it.

const LIMIT_MS = 30_000
const EVERY_S = 3_600
/** A server that cannot be saved is tried again no later. */
const AGAIN_S = 300
/** Of every gateway of these tests: none waits for the leases of one before it. */
const processName = 'gateway-1'

let env: CoreEnv
let cell: ScriptedCell
let serverId: string
/** The images that the cell was asked to fill, each once. */
let saved: Set<string>
let withdrawn: string[]

beforeAll(async () => {
  env = await CoreEnv.open('back_up_servers', ['north'])
  cell = env.cells[0]!
})
afterAll(() => env?.[Symbol.asyncDispose]())
beforeEach(() => {
  saved = new Set()
  withdrawn = []
  cell.overrides = {}
})

const images = {
  ...NO_IMAGES,
  withdraw: async (_tx: unknown, id: string) => void withdrawn.push(id),
}

type Act = CellAsk<'instance.act'>

/** The cell answers backups so; without an answer it is silent. */
function answers(answer: (ask: Act) => ReturnType<ScriptedCell['act']>): void {
  cell.overrides = {
    'instance.act': (ask) => {
      if (ask.act.name !== 'create-backup') return cell.act(ask)
      saved.add(ask.act.target.imageId)
      return answer(ask)
    },
  }
}

const accept = (ask: Act) => cell.act(ask)
function refuse(): never {
  throw new Failure('conflict', 'Its host is busy.')
}
function stayLost(): never {
  throw new Failure('unavailable', 'The answer is lost.')
}

async function protectedServer(core: RunningCompute): Promise<void> {
  const order = orderFor(cell)
  const { id, projectId, userId } = order.servers[0]!.row
  serverId = id
  await startServers(core, work(), order)
  await env.until(id, ({ vmState, taskState }) => vmState === 'active' && taskState === null)
  const schedule = { everyS: EVERY_S, keep: 1, toCellId: null }
  await env.db.transaction((tx) => putProtection(tx, { serverId, projectId, userId, ...schedule }))
}

async function shown(): Promise<ServerProtection> {
  const ofServer = eq(serverProtections.serverId, serverId)
  const [row] = await env.db.orm.select().from(serverProtections).where(ofServer)
  return row!
}

/** As when the time of the schedule has passed. */
async function fallDue(): Promise<ServerProtection> {
  await env.db.orm
    .update(serverProtections)
    .set({ nextAt: sql`now(3) - interval 1 second` })
    .where(eq(serverProtections.serverId, serverId))
  return shown()
}

const untilShown = (what: string, is: (row: ServerProtection) => boolean) =>
  waitFor(
    what,
    async () => {
      const row = await shown()
      if (is(row)) return row
      throw new Error(JSON.stringify(row))
    },
    LIMIT_MS,
  )

/** In how many seconds the next backup is due. */
async function dueInS(): Promise<number> {
  const { nextAt } = serverProtections
  const [row] = await env.db.orm
    .select({ seconds: sql<number>`timestampdiff(second, now(3), ${nextAt})`.mapWith(Number) })
    .from(serverProtections)
    .where(eq(serverProtections.serverId, serverId))
  return row!.seconds
}

test.each(['before', 'after'] as const)(
  'a gateway that is killed %s it has taken a backup delays it by no more than seconds',
  async (when) => {
    answers(accept)
    const db = new KilledDatabase(env.db)
    const first = await env.core({ db, images, processName })
    await protectedServer(first)
    const before = await untilShown('the first backup', ({ lastImageId }) => lastImageId !== null)
    await env.until(serverId, ({ taskState }) => taskState === null)
    saved.clear()

    db.arm({ atCommit: 1, when, counts: /server_protections/ })
    await fallDue()
    await db.died
    await Promise.allSettled([first[Symbol.asyncDispose]()])
    expect(await dueInS()).toBeLessThanOrEqual(60)
    await using _second = await env.core({ images, processName })
    await fallDue()

    const made = await untilShown('the next', (row) => row.lastImageId !== before.lastImageId)
    expect(made.nextAt.getTime() - made.lastAt!.getTime()).toBe(EVERY_S * 1_000)
    await waitFor('the cell to be asked', () => saved.size > 0, LIMIT_MS)
    expect([...saved]).toEqual([made.lastImageId])
  },
)

test('a backup that the cell refuses after its gateway has ended is not the last one, and is tried again', async () => {
  answers(accept)
  const first = await env.core({ images, processName })
  await protectedServer(first)
  const before = await untilShown('the first backup', ({ lastImageId }) => lastImageId !== null)
  await env.until(serverId, ({ taskState }) => taskState === null)

  saved.clear()
  answers(stayLost)
  await fallDue()
  await waitFor('the cell to be asked', () => saved.size > 0, LIMIT_MS)
  await first[Symbol.asyncDispose]()
  answers(refuse)
  await using _second = await env.core({ images, processName })

  const refused = await untilShown('the refusal', ({ lastError }) => lastError !== null)
  const { lastImageId, lastAt } = before
  expect(refused).toMatchObject({ lastImageId, lastAt, lastError: 'Its host is busy.' })
  expect(await dueInS()).toBeLessThanOrEqual(AGAIN_S)
  expect(withdrawn).toEqual([...saved])
})

test('of two gateways that took the same backup, the one that was late begins none', async () => {
  {
    answers(accept)
    await using core = await env.core({ images, processName })
    await protectedServer(core)
    await untilShown('the first backup', ({ lastImageId }) => lastImageId !== null)
  }
  const take = async () => (await takeDue(env.db, await fallDue()))!
  const late = await take()
  const taken = await take()
  const begin = ({ nextAt }: ServerProtection, imageId: string) =>
    env.db.transaction((tx) =>
      beginBackup(tx, serverId, imageId, { dueAgainMs: nextAt.getTime(), former: null }),
    )

  expect(await begin(late, 'late')).toBe(false)
  await deferBackup(env.db, late, { error: 'late', againS: 1 })
  await endProtection(env.db, late)
  expect(await shown()).toEqual(taken)
  expect(await begin(taken, 'first')).toBe(true)
  expect(await begin(taken, 'second')).toBe(false)
  expect(await shown()).toMatchObject({ lastImageId: 'first', lastError: null })

  const last = await take()
  await removeProtection(env.db, serverId)
  expect(await begin(last, 'removed')).toBe(false)
})
