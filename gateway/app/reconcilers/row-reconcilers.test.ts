import { afterAll, beforeAll, expect, test } from 'vitest'
import { type HostId, newId } from '#common/ids.ts'
import type { IsolatedEnd } from '#common/isolated/isolated-process.ts'
import { seizeLease } from '#common/saga/lease.ts'
import type { Json } from '#common/saga/saga.ts'
import { waitFor } from '#common/wait-for.ts'
import { CoreEnv, orderFor, work } from '#test/env/compute-core.ts'
import type { ScriptedCell } from '#test/env/scripted-cell.ts'
import { beginHostDrain, findHostDrain } from '../../db/operations.ts'
import { takeRows } from '../../db/reconciler-rows.ts'
import { listActions } from '../../db/server-action-list.ts'
import { intentPage } from '../intents/intents.ts'
import type { RunningCompute } from '../open-compute.ts'
import { ANONYMOUS } from '../request-context.ts'
import { powerServer } from '../servers/acts/power-server.ts'
import { startServers } from '../servers/boot/start-servers.ts'
import type { IsolatedRow } from './row-reconciler.ts'
import { rowIsolated } from './row-reconcilers.ts'

// Goal: intents and drains on which a gateway worked when it ended are tried in an isolated process, and there they succeed or are set aside.

const DEADLINE_MS = 500
const LIMIT_MS = 30_000
const dueTimes = { resizeConfirmWindowS: 0, shelvedOffloadTimeS: -1 }

let env: CoreEnv
let cell: ScriptedCell

beforeAll(async () => {
  env = await CoreEnv.open('row_reconcilers', ['north'])
  cell = env.cells[0]!
})
afterAll(() => env?.[Symbol.asyncDispose]())

async function by(id: string) {
  const { projectId } = (await env.server(id))!
  return { ...ANONYMOUS, ...work(), projectId: projectId as never, microversion: '2.1' } as const
}

const intentsOf = async (id: string) => {
  const { intents } = await intentPage(env.db, await by(id), { limit: 10 })
  return intents
}

/** As if the process of this name had been killed while it worked on the row. */
async function leaveHeld(processName: string, reconciler: string, row: string): Promise<void> {
  await takeRows(env.db, await seizeLease(env.db, processName, newId(), 60_000), reconciler, [row])
}

/** A server with a waiting stop, on which a process of this name worked when it ended. */
async function leaveIntent(processName: string): Promise<string> {
  await using first = await env.core({ cellDeadlineMs: DEADLINE_MS, processName })
  const order = orderFor(cell)
  const { id } = order.servers[0]!.row
  await startServers(first, work(), order)
  await env.until(id, ({ vmState }) => vmState === 'active')
  await cell.vanish()
  const isUnreachable = () => first.cells.cell(cell.id)?.isReachable === false
  await waitFor('the cell to be unreachable', isUnreachable, LIMIT_MS)
  await powerServer(first, await by(id), id, 'stop')
  const [intent] = await intentsOf(id)
  await leaveHeld(processName, 'intents', intent!.id)
  return id
}

/** The next process of that name; isolated rows come to `end`. */
function next(processName: string, end: (row: IsolatedRow) => Promise<IsolatedEnd>) {
  const run = (task: Json) => end(task as unknown as IsolatedRow)
  return env.core({ cellDeadlineMs: DEADLINE_MS, processName, isolated: { run } })
}

test('an intent that did not end its process is begun in an isolated process, once, and continues in the gateway', async () => {
  const processName = newId<string>()
  const id = await leaveIntent(processName)
  const opened = Promise.withResolvers<RunningCompute>()
  const tried: string[] = []
  cell.appear()

  await using core = await next(processName, async (task) => {
    tried.push(task.reconciler)
    const { signal } = new AbortController()
    const options = { processName, dueTimes }
    return { kind: 'ended', answer: await rowIsolated(await opened.promise, options, task, signal) }
  })
  opened.resolve(core)

  await env.until(id, ({ vmState, taskState }) => vmState === 'stopped' && taskState === null)
  expect(tried).toEqual(['intents'])
  expect(await intentsOf(id)).toEqual([])
})

test('an intent that ends its isolated process ends as a failed action, and the next is carried out', async () => {
  const processName = newId<string>()
  const id = await leaveIntent(processName)
  cell.appear()

  await using core = await next(processName, async () => {
    return { kind: 'guilty', why: 'It held up its process for 30 seconds.' }
  })

  const page = { serverId: id, limit: 10, since: undefined, before: undefined, marker: undefined }
  const newest = async () => (await listActions(env.db, page))[0]
  const failed = { action: 'stop', message: 'Error' }
  await expect.poll(newest, { timeout: LIMIT_MS }).toMatchObject(failed)
  expect(await env.server(id)).toMatchObject({ vmState: 'active', intent: null })
  await powerServer(core, await by(id), id, 'stop')
  await env.until(id, ({ vmState }) => vmState === 'stopped')
})

test('a drain that ends its isolated process has failed', async () => {
  const processName = newId<string>()
  const subject = { subjectId: newId<HostId>(), subject: 'host', cellId: cell.id }
  const how = {
    reason: null,
    movesServers: false,
    parallel: 1,
    liveOnly: false,
    toOtherCells: false,
    evacuates: false,
    fencedAt: null,
    deadlineS: null,
  }
  const asked = { ...how, userId: 'u', requestId: 'req-1' }
  const id = await env.db.transaction((tx) => beginHostDrain(tx, { ...subject, ...asked }))
  await leaveHeld(processName, 'drain hosts', id)

  await using _ = await next(processName, async () => {
    return { kind: 'guilty', why: 'Its process ran out of memory, or aborted.' }
  })

  const drain = async () => (await findHostDrain(env.db, id))!
  await expect.poll(async () => (await drain()).state, { timeout: LIMIT_MS }).toBe('failed')
  expect((await drain()).message).toBe('It stopped the program that did it.')
})
