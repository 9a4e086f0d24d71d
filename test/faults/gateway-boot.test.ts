import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { isFailure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import { CrashingDatabase } from '#common/saga/testing.ts'
import { waitFor } from '#common/wait-for.ts'
import type { RunningCompute } from '#gateway/app/open-compute.ts'
import { deleteServerSaga } from '#gateway/app/sagas/delete-server.ts'
import { startServers } from '#gateway/app/servers/boot/start-servers.ts'
import { readFeedPosition } from '#gateway/db/cell-mappings.ts'
import { usagesOf } from '#gateway/db/quota-usages.ts'
import { instanceMappings } from '#gateway/db/schema/servers.ts'
import { WIRE_VERSION } from '#openapi/wire.ts'
import { CoreEnv, orderFor, work } from '../env/compute-core.ts'
import { HONEST_SUMMARY, HOSTS_TRACE, type ScriptedCell } from '../env/scripted-cell.ts'

// What a gateway does when cells refuse, give up, are late, or are silent, and when gateways die: one server or none.

let env: CoreEnv
let core: RunningCompute
let north: ScriptedCell
let south: ScriptedCell

beforeAll(async () => {
  env = await CoreEnv.open('faults_boot', ['north', 'south'])
  core = await env.core({ cellDeadlineMs: 1_000 })
  north = env.cells[0]!
  south = env.cells[1]!
})
afterAll(async () => {
  await core?.[Symbol.asyncDispose]()
  await env?.[Symbol.asyncDispose]()
})
beforeEach(() => {
  for (const cell of env.cells) {
    cell.decide = () => 'accepted'
    cell.isPrompt = true
    cell.overrides = {}
    cell.summary = HONEST_SUMMARY
    cell.added = {}
    cell.unknown = []
  }
})

const isActive = ({ vmState }: { vmState: string }) => vmState === 'active'
const isGone = ({ deletedAt }: { deletedAt: Date | null }) => deletedAt !== null

function buildsOf(cell: ScriptedCell, id: string): number {
  return cell.builds.filter(({ operation }) => operation.serverId === id).length
}

async function remove(on: RunningCompute, id: string) {
  const params = { serverId: id as never, operationId: newId<string>(), requester: null }
  const { finished } = await on.sagas.start(deleteServerSaga, { subject: id, params, work: work() })
  return finished
}

test('a cell of the next release, which says more, and in another version too, is worked with', async () => {
  const versions = [WIRE_VERSION, WIRE_VERSION + 1]
  north.summary = { ...HONEST_SUMMARY, release: '9.9.0', wireVersions: versions }
  north.added = { addedLater: { of: ['a', 'newer', 'release'] } }
  const summary = () => core.cells.cell(north.id)?.summary
  await waitFor('a heartbeat with its release', () => summary()?.release === '9.9.0', 10_000)
  expect(summary()?.wireVersions).toEqual(versions)

  const order = orderFor(north)
  const { id } = order.servers[0]!.row
  await startServers(core, work(), order)
  expect(await env.until(id, isActive)).toMatchObject({ cellId: north.id, attempt: 1 })
  await remove(core, id)
  await env.until(id, isGone)
  expect(north.deletes.map(({ operation }) => operation.serverId)).toContain(id)
})

test('a cell of the previous release does what it knows, and an operation unknown to it delays nothing', async () => {
  await north.vanish()
  north.unknown = ['instance.diagnostics']
  north.appear()
  await waitFor(
    'a heartbeat of the cell',
    () => core.cells.cell(north.id)?.isReachable === true,
    10_000,
  )
  const asked = { serverId: newId<string>() }
  const how = { work: work(), timeoutMs: 200 }
  await expect(core.askCell(north, 'instance.diagnostics', asked, how)).rejects.toMatchObject({
    kind: 'unavailable',
    message: 'Cell north did not answer.',
  })

  const order = orderFor(north)
  await startServers(core, work(), order)
  await env.until(order.servers[0]!.row.id, isActive)
})

test('a refused server is built in the next cell, at the next attempt', async () => {
  const order = orderFor(north)
  const { id } = order.servers[0]!.row
  north.decide = () => 'refused'

  await startServers(core, work(), order)

  const server = await env.until(id, isActive)
  expect(server).toMatchObject({ cellId: south.id, attempt: 2, fault: null })
  expect([buildsOf(north, id), buildsOf(south, id)]).toEqual([1, 1])
})

test('a server that its cell refuses while no cell is heard is built in the next that is heard', async () => {
  const order = orderFor(north)
  const { id } = order.servers[0]!.row
  const isNoneHeard = () =>
    env.cells.every((cell) => core.cells.cell(cell.id)?.isReachable === false)
  const refusal = { outcome: 'refused', reason: 'No host fits.', trace: HOSTS_TRACE } as const
  const refuse = async () => {
    await waitFor('no cell to be heard', isNoneHeard, 10_000)
    return refusal
  }
  north.overrides = { 'instance.build': refuse }
  for (const cell of env.cells) cell.stopBeating()

  const [run] = await startServers(core, work(), order)
  expect(await run!.finished).toBe('handed-over')
  expect(await env.server(id)).toMatchObject({ vmState: 'building', fault: null })
  north.overrides = { 'instance.build': () => refusal }
  for (const cell of env.cells) cell.startBeating()

  expect(await env.until(id, isActive)).toMatchObject({ cellId: south.id, attempt: 2, fault: null })
})

test('a server that every cell refuses is in ERROR, in no cell, and can be deleted without any', async () => {
  const projectId = newId<string>()
  const order = orderFor(north, { projectId })
  const { id } = order.servers[0]!.row
  for (const cell of env.cells) cell.decide = () => 'refused'

  await startServers(core, work(), order)

  const server = await env.until(id, ({ vmState }) => vmState === 'error')
  expect(server).toMatchObject({ cellId: null, taskState: null })
  expect(server.fault).toMatchObject({
    code: 500,
    message: expect.stringMatching(/^No valid host was found\. /),
  })
  expect(server.fault!.details).toContain('RetryFilter')
  expect(await remove(core, id)).toBe('done')
  expect(await env.server(id)).toSatisfy(isGone)
  expect(await usagesOf(env.db, projectId)).toEqual(
    new Map([
      ['cores', 0],
      ['instances', 0],
      ['ram', 0],
    ]),
  )
})

test('a server given up before it ran is built in the next cell', async () => {
  const order = orderFor(north)
  const { id } = order.servers[0]!.row
  north.isPrompt = false
  const [run] = await startServers(core, work(), order)
  await run!.finished

  north.emit([{ kind: 'not-built', serverId: id, attempt: 1, reason: 'No disk.', at: Date.now() }])

  expect(await env.until(id, isActive)).toMatchObject({ cellId: south.id, attempt: 2 })
})

test('a build whose reply was lost is asked again and is one server', async () => {
  const order = orderFor(north)
  const { id } = order.servers[0]!.row
  let lost = 0
  north.overrides = {
    'instance.build': (ask) => {
      const answer = north.build(ask)
      lost += 1
      // Whatever breaks the contract is no answer: the outcome is as unknown as after silence.
      return lost === 1 ? (undefined as never) : answer
    },
  }

  await startServers(core, work(), order)

  expect(await env.until(id, isActive)).toMatchObject({ cellId: north.id, attempt: 1 })
  await expect.poll(() => buildsOf(north, id)).toBe(2)
  expect(buildsOf(south, id)).toBe(0)
})

test('a delete that overtakes its build leaves nothing, and the build finds it deleted', async () => {
  const projectId = newId<string>()
  const order = orderFor(north, { projectId })
  const { id } = order.servers[0]!.row
  const held = Promise.withResolvers<void>()
  north.overrides = {
    'instance.build': async (ask) => {
      await held.promise
      return north.build(ask)
    },
  }
  const [run] = await startServers(core, work(), order)

  expect(await remove(core, id)).toBe('done')
  held.resolve()

  expect(await run!.finished).toBe('done')
  expect(await env.server(id)).toSatisfy(isGone)
  expect(north.views.has(id)).toBe(false)
  expect((await usagesOf(env.db, projectId)).get('instances')).toBe(0)
})

test('the late answer and the late feed of a cell that lost the server change nothing', async () => {
  const order = orderFor(north)
  const { id } = order.servers[0]!.row
  north.isPrompt = false
  const [run] = await startServers(core, work(), order)
  await run!.finished
  const late = north.views.get(id)!
  north.emit([{ kind: 'not-built', serverId: id, attempt: 1, reason: 'No disk.', at: Date.now() }])
  const server = await env.until(id, isActive)

  north.emit([
    { kind: 'instance', view: { ...late, version: 99, vmState: 'stopped' } },
    { kind: 'instance', view: { ...late, attempt: 2, version: 99, vmState: 'stopped' } },
    { kind: 'deleted', serverId: id, attempt: 2, at: Date.now() },
    { kind: 'not-built', serverId: id, attempt: 2, reason: 'forged', at: Date.now() },
  ])
  const marker = orderFor(north).servers[0]!.row.id
  north.emit([{ kind: 'not-built', serverId: marker, attempt: 1, reason: '', at: Date.now() }])
  await applied(north)

  expect(await env.server(id)).toEqual(server)
})

test('a delete while the cell is unreachable is shown at once and carried out when it is back', async () => {
  const order = orderFor(south)
  const { id } = order.servers[0]!.row
  await startServers(core, work(), order)
  await env.until(id, isActive)
  await south.vanish()
  await expect.poll(() => core.cells.cell(south.id)!.isReachable).toBe(false)

  expect(await remove(core, id)).toBe('handed-over')
  expect(await env.server(id)).toMatchObject({ taskState: 'deleting', deletedAt: null })

  south.appear()
  await env.until(id, isGone)
  expect(south.views.has(id)).toBe(false)
})

test('no accepted request takes usage above the limit, however many come at once', async () => {
  const projectId = newId<string>()

  const outcomes = await Promise.allSettled(
    Array.from({ length: 25 }, () => startServers(core, work(), orderFor(north, { projectId }))),
  )

  const refused = outcomes.flatMap((outcome) =>
    outcome.status === 'rejected' ? [outcome.reason as unknown] : [],
  )
  expect(refused).toHaveLength(15)
  expect(refused.every((error) => isFailure(error, 'over-quota'))).toBe(true)
  expect((await usagesOf(env.db, projectId)).get('instances')).toBe(10)
})

test('the first uses of a project’s quota, all at once, are all counted', async () => {
  for (let round = 0; round < 5; round += 1) {
    const projectId = newId<string>()

    await Promise.all(
      Array.from({ length: 8 }, () => startServers(core, work(), orderFor(north, { projectId }))),
    )

    expect((await usagesOf(env.db, projectId)).get('instances')).toBe(8)
  }
})

test.each([1, 2].flatMap((n) => [[n, 'before'] as const, [n, 'after'] as const]))(
  'a gateway killed at transaction %i, %s its commit, is succeeded by one that makes one server or none',
  async (dieAt, when) => {
    const order = orderFor(north)
    const { id } = order.servers[0]!.row
    const processName = newId<string>()
    const crashing = new CrashingDatabase(env.db, Number.POSITIVE_INFINITY, when)
    {
      await using doomed = await env.core({ db: crashing, processName })
      crashing.dieIn(dieAt)
      await startServers(doomed, work(), order)
        .then(([run]) => run!.finished)
        .catch(() => 'never promised')
    }

    // Transactions of its reconcilers count too, so the one that died need not be the server's.
    const isPromised = (await env.server(id)) !== undefined
    await using _heir = await env.core({ processName })

    if (isPromised) await env.until(id, isActive)
    else expect(await env.server(id)).toBeUndefined()
    expect(north.views.has(id)).toBe(isPromised)
    expect(buildsOf(south, id)).toBe(0)
  },
)

/** Waits until the gateway has applied everything the cell has said. */
async function applied(cell: ScriptedCell): Promise<void> {
  const last = cell.rows.at(-1)!.n
  await expect.poll(async () => (await readFeedPosition(env.db, cell.id))?.position).toBe(last)
}

test('a gateway that has just begun waits for the cells that it may hear any moment', async () => {
  const order = orderFor(north)
  const { id } = order.servers[0]!.row
  north.isPrompt = false
  const [run] = await startServers(core, work(), order)
  await run!.finished
  await core[Symbol.asyncDispose]()
  for (const cell of env.cells) await cell.vanish()
  await env.db.orm
    .update(instanceMappings)
    .set({ isNotBuilt: true, notBuiltReason: 'No disk.' })
    .where(eq(instanceMappings.serverId, id))

  core = await env.core({ hears: [] })
  const round = () => core.status().find(({ name }) => name === 'retry builds')
  await waitFor('the first round', () => round()?.lastEndedAt, 10_000)
  for (const cell of env.cells) cell.appear()

  expect(await env.until(id, isActive)).toMatchObject({ cellId: south.id, attempt: 2, fault: null })
})
