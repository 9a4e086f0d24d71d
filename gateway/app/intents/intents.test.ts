import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { Failure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import { waitFor } from '#common/wait-for.ts'
import type { CellAsk } from '#openapi/wire/cell.ts'
import { CoreEnv, orderFor, work } from '#test/env/compute-core.ts'
import type { ScriptedCell } from '#test/env/scripted-cell.ts'
import { instanceMappings, serverIndex } from '../../db/schema/servers.ts'
import { listActionEvents, listActions } from '../../db/server-action-list.ts'
import type { RunningCompute } from '../open-compute.ts'
import { ANONYMOUS, type RequestContext } from '../request-context.ts'
import { deleteServer } from '../servers/acts/delete-server.ts'
import { powerServer } from '../servers/acts/power-server.ts'
import { startServers } from '../servers/boot/start-servers.ts'
import { cancelIntent, intentPage } from './intents.ts'

// Goal: actions on servers of an unreachable cell are done once, in order, when the cell is back; two gateways
// compete for them.

const DEADLINE_MS = 500
const LIMIT_MS = 30_000

let env: CoreEnv
let core: RunningCompute
let other: RunningCompute
let cell: ScriptedCell
let acts: CellAsk<'instance.act'>[]

beforeAll(async () => {
  env = await CoreEnv.open('intents', ['north'])
  core = await env.core({ cellDeadlineMs: DEADLINE_MS })
  other = await env.core({ cellDeadlineMs: DEADLINE_MS })
  cell = env.cells[0]!
})
beforeEach(() => {
  acts = []
  cell.overrides = {
    'instance.act': (ask) => {
      // A gateway asks again where an answer is late.
      if (!acts.some(({ operation }) => operation.id === ask.operation.id)) acts.push(ask)
      return cell.act(ask)
    },
  }
})
afterAll(async () => {
  await other?.[Symbol.asyncDispose]()
  await core?.[Symbol.asyncDispose]()
  await env?.[Symbol.asyncDispose]()
})

/** A request of the server's owner. */
async function by(id: string): Promise<RequestContext> {
  const { projectId } = (await env.server(id))!
  return { ...ANONYMOUS, ...work(), projectId: projectId as never, microversion: '2.1' }
}

async function active(): Promise<string> {
  const order = orderFor(cell)
  const { id } = order.servers[0]!.row
  await startServers(core, work(), order)
  await env.until(id, ({ vmState }) => vmState === 'active')
  return id
}

async function becomeUnreachable(): Promise<void> {
  await cell.vanish()
  for (const each of [core, other])
    await waitFor(
      'the cell to be unreachable',
      () => each.cells.cell(cell.id)?.isReachable === false,
      LIMIT_MS,
    )
}

async function waiting(id: string): Promise<readonly string[]> {
  const { intents } = await intentPage(env.db, await by(id), { limit: 10 })
  return intents.map(({ action }) => action)
}

const pageOf = (serverId: string) => {
  return { serverId, limit: 10, since: undefined, before: undefined, marker: undefined }
}
const messages = async (id: string) => {
  const actions = await listActions(env.db, pageOf(id))
  return actions.toReversed().map(({ action, message }) => `${action} ${message}`)
}

/** How many statements wait for a row of a server. */
async function heldUp(): Promise<number> {
  const found = await env.db.orm.execute(
    sql`select count(*) as n from information_schema.processlist where db = database() and time_ms > 200 and info like 'update%server_index%'`,
  )
  return Number((found as unknown as [readonly { n: number }[]])[0][0]!.n)
}

const done = (id: string) =>
  waitFor('no intent to be left', async () => (await waiting(id)).length === 0, LIMIT_MS)

test('the newest intent of a server is done, once, and the others tell that they were not', async () => {
  const id = await active()
  await becomeUnreachable()

  await powerServer(core, await by(id), id, 'stop')
  expect(await env.server(id)).toMatchObject({ vmState: 'active', taskState: 'powering-off' })
  await expect(powerServer(core, await by(id), id, 'stop')).rejects.toMatchObject({
    kind: 'conflict',
  })
  await powerServer(other, await by(id), id, 'start')
  await powerServer(core, await by(id), id, 'stop')
  expect(await waiting(id)).toEqual(['stop'])
  expect(acts).toEqual([])

  cell.appear()
  await env.until(id, ({ vmState, intent }) => vmState === 'stopped' && intent === null)
  await done(id)

  expect(acts.map(({ act, isDesiredState, isWish }) => [act.name, isDesiredState, isWish])).toEqual(
    [['stop', true, true]],
  )
  expect(await messages(id)).toEqual([
    'create null',
    'stop Superseded by a later request.',
    'start Superseded by a later request.',
    'stop null',
  ])
})

test('servers are seen to in the order in which they were asked for, and a delete beats all', async () => {
  const ids = [await active(), await active(), await active()]
  const [first, second, third] = ids as [string, string, string]
  const host = (await env.server(third))?.hostId
  await becomeUnreachable()
  await powerServer(core, await by(second), second, 'stop')
  await powerServer(core, await by(first), first, 'stop')
  await powerServer(core, await by(third), third, 'stop')
  await deleteServer(core, await by(third), third)
  await deleteServer(core, await by(third), third)
  await expect(powerServer(core, await by(third), third, 'start')).rejects.toMatchObject({
    kind: 'conflict',
  })
  expect(await env.server(third)).toMatchObject({ taskState: 'deleting' })
  expect(await waiting(third)).toEqual(['delete'])

  cell.appear()
  await env.until(third, ({ deletedAt }) => deletedAt !== null)
  for (const id of [first, second]) await env.until(id, ({ vmState }) => vmState === 'stopped')

  expect(acts.map(({ operation }) => operation.serverId)).toEqual([second, first])
  // With the host it was seen on: a cell that was restored meanwhile may know nothing of the server.
  expect(host).toBeTruthy()
  expect(cell.deletes.filter(({ operation }) => operation.serverId === third)).toMatchObject([
    { hostId: host },
  ])
})

test('of two deletes at the same moment one waits, and the other is told so', async () => {
  const id = await active()
  await becomeUnreachable()
  const requests = await Promise.all([core, other].map(async () => by(id)))

  // Both have seen that nothing waits yet, and are held up at the server.
  const asked = await env.db.transaction(async (tx) => {
    await tx.orm.select().from(serverIndex).where(eq(serverIndex.serverId, id)).for('update')
    const both = [core, other].map((each, index) => deleteServer(each, requests[index]!, id))
    const settled = Promise.allSettled(both)
    await waitFor('both to be held up', async () => (await heldUp()) === 2, LIMIT_MS)
    return { settled }
  })

  const outcomes = (await asked.settled).map((outcome) =>
    outcome.status === 'fulfilled' ? 'accepted' : String((outcome.reason as Failure).kind),
  )
  expect(outcomes.toSorted()).toEqual(['accepted', 'conflict'])
  expect(await waiting(id)).toEqual(['delete'])
  cell.appear()
  await done(id)
})

test('a cancelled intent is not carried out, and its server shows its former state', async () => {
  const ids = [await active(), await active()]
  await becomeUnreachable()
  for (const id of ids) await deleteServer(core, await by(id), id)
  const [id, kept] = ids as [string, string]
  const [intent] = (await intentPage(env.db, await by(kept), { limit: 10 })).intents

  const stranger = { projectId: newId<string>(), isAdmin: false }
  await expect(cancelIntent(env.db, stranger, intent!.id)).rejects.toMatchObject({
    kind: 'not-found',
  })
  await cancelIntent(env.db, await by(kept), intent!.id)
  await expect(cancelIntent(env.db, await by(kept), intent!.id)).rejects.toMatchObject({
    kind: 'not-found',
  })
  cell.appear()
  await env.until(id, ({ deletedAt }) => deletedAt !== null)

  expect(await env.server(kept)).toMatchObject({ vmState: 'active', taskState: null, intent: null })
  expect(cell.views.has(kept)).toBe(true)
  expect(await messages(kept)).toEqual(['create null', 'delete Cancelled.'])
})

test('an intent that the cell refuses ends as a failed action with the reason', async () => {
  const id = await active()
  await becomeUnreachable()
  await powerServer(core, await by(id), id, 'stop')
  cell.overrides['instance.act'] = () => {
    throw new Failure('conflict', 'It is paused.')
  }

  cell.appear()
  await waitFor(
    'the action to fail',
    async () => (await messages(id)).includes('stop Error'),
    LIMIT_MS,
  )

  expect(await env.server(id)).toMatchObject({ vmState: 'active', taskState: null })
  expect(await waiting(id)).toEqual([])
  const lastEvent = async () => {
    const [action] = await listActions(env.db, pageOf(id))
    return (await listActionEvents(env.db, id, action!.requestId))[0]
  }
  await expect.poll(lastEvent).toMatchObject({ result: 'Error', details: 'It is paused.' })
})

test('a delete of a server that is gone by then is done', async () => {
  const id = await active()
  await becomeUnreachable()
  await deleteServer(core, await by(id), id)
  expect(await waiting(id)).toEqual(['delete'])

  // As where another delete of the server was under way.
  await env.db.orm.delete(instanceMappings).where(eq(instanceMappings.serverId, id))
  cell.appear()

  await done(id)
})
