import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import { waitFor } from '#common/wait-for.ts'
import { CoreEnv, orderFor, work } from '#test/env/compute-core.ts'
import type { ScriptedCell } from '#test/env/scripted-cell.ts'
import { findMapping } from '../../db/instance-mappings.ts'
import { insertLoss } from '../../db/lost-cells.ts'
import { findRequestSpec } from '../../db/request-specs.ts'
import { findServerGroup, insertServerGroup } from '../../db/server-groups.ts'
import type { RunningCompute } from '../open-compute.ts'
import { reserveResize } from '../quotas/resize-charge.ts'
import { ANONYMOUS } from '../request-context.ts'
import { joinServerGroup } from '../server-groups/members.ts'
import { deleteServer } from '../servers/acts/delete-server.ts'
import { rebuildUnplaced } from '../servers/boot/rebuild-unplaced.ts'
import { startServers } from '../servers/boot/start-servers.ts'

// Goal: no server of a lost cell can be in two places, and a lost cell serves again only once it has nothing that is not its own.

const DEADLINE_MS = 500
const LIMIT_MS = 30_000

let env: CoreEnv
let core: RunningCompute
let lost: ScriptedCell
let other: ScriptedCell

beforeAll(async () => {
  env = await CoreEnv.open('lost_cell', ['lost', 'other'])
  core = await env.core({ cellDeadlineMs: DEADLINE_MS })
  ;[lost, other] = env.cells as [ScriptedCell, ScriptedCell]
})
afterAll(async () => {
  await core?.[Symbol.asyncDispose]()
  await env?.[Symbol.asyncDispose]()
})

async function started(is: 'building' | 'active'): Promise<string> {
  lost.isPrompt = is === 'active'
  const order = orderFor(lost)
  const { id } = order.servers[0]!.row
  const [run] = await startServers(core, work(), order)
  await run!.finished
  await env.until(id, ({ vmState, version }) => vmState === is && version > 0)
  return id
}

/** The id of a group that keeps this server's company in its cell. */
async function groupOf(serverId: string): Promise<string> {
  const group = { id: newId<string>(), name: 'together', policy: 'affinity' } as const
  const { projectId, userId } = (await env.server(serverId))!
  await env.db.transaction(async (tx) => {
    await insertServerGroup(tx, { ...group, projectId, userId, maxPerHost: null })
    const servers = [{ id: serverId, cellId: lost.id }]
    const { requestId } = work()
    await joinServerGroup(tx, { groupId: group.id, userId, requestId, servers })
  })
  return group.id
}

const cellNow = () => core.cells.cell(lost.id)

test('servers of a lost cell are taken from it, each as it was, and it is cleared before it serves again', async () => {
  const ran = await started('active')
  const unwanted = await started('active')
  const unbuilt = await started('building')
  const group = await groupOf(ran)
  const before = await findMapping(env.db, ran)
  await env.db.transaction((tx) => reserveResize(tx, ran, { vcpus: 4, memoryMb: 512 }))
  expect((await findMapping(env.db, ran))?.cores).toBe(4)
  expect(await findServerGroup(env.db, group)).toMatchObject({ cellId: lost.id })
  await lost.vanish()
  await waitFor('the cell to be unreachable', () => cellNow()?.isReachable === false, LIMIT_MS)
  const question = core.askCell(lost, 'instance.audit', { serverId: ran }, { work: work() })
  await expect(question).rejects.toMatchObject({
    kind: 'unavailable',
    detail: 'no heartbeats of the cell arrive',
  })
  const { projectId } = (await env.server(unwanted))!
  const owner = { ...ANONYMOUS, ...work(), projectId: projectId as never, microversion: '2.1' }
  await deleteServer(core, owner, unwanted)

  const loss = { by: 'operator', statement: 'Its power was cut.' }
  expect(await env.db.transaction((tx) => insertLoss(tx, lost.id, loss))).toBe(true)
  expect(await env.db.transaction((tx) => insertLoss(tx, lost.id, loss))).toBe(false)

  const shown = await env.until(ran, ({ vmState }) => vmState === 'error')
  expect(shown).toMatchObject({ cellId: null, fault: { details: 'Cell lost was declared lost.' } })
  expect(await findMapping(env.db, ran)).toMatchObject({ cellId: null, attempt: 2, sagaId: null })
  expect(await findServerGroup(env.db, group)).toMatchObject({ cellId: null, members: [ran] })
  // A resize that can no longer be confirmed or reverted is not charged.
  await waitFor(
    'it to be charged as it was',
    async () => (await findMapping(env.db, ran))?.cores === before?.cores,
    LIMIT_MS,
  )
  await env.until(unwanted, ({ deletedAt }) => deletedAt !== null)
  expect(await findMapping(env.db, unwanted)).toBeUndefined()
  await env.until(unbuilt, ({ vmState, cellId }) => vmState === 'active' && cellId === other.id)

  // Its owner has it rebuilt, where there is room: in its group's next cell, at the charge it has.
  const request = (await findRequestSpec(env.db, ran))!
  const { id, projectId: project, ...was } = shown
  const asked = { ...owner, projectId: project as never }
  const rule = { id: group, policy: 'affinity', maxPerHost: 1 } as const
  const wanted = { ...request, spec: { ...request.spec, group: rule }, shown: was }
  const rebuild = () => rebuildUnplaced(core, asked, { ...shown, id }, wanted)
  await rebuild()
  await expect(rebuild()).rejects.toMatchObject({ kind: 'conflict' })
  await env.until(ran, ({ vmState, cellId }) => vmState === 'active' && cellId === other.id)
  const charged = { attempt: 3, cores: before?.cores, ramMb: before?.ramMb }
  expect(await findMapping(env.db, ran)).toMatchObject(charged)
  expect(await findServerGroup(env.db, group)).toMatchObject({ cellId: other.id, members: [ran] })

  const held = [...lost.views.keys()]
  let isServed = false
  lost.overrides = {
    'instance.delete': (ask) => {
      isServed ||= cellNow()?.isReachable === true
      return lost.delete(ask)
    },
  }
  lost.appear()
  await waitFor('the cell to serve again', () => cellNow()?.isReachable === true, LIMIT_MS)

  expect(isServed).toBe(false)
  expect(lost.deletes.map(({ operation }) => operation.serverId).toSorted()).toEqual(
    held.toSorted(),
  )
  expect(lost.deletes.every(({ operation }) => operation.attempt === 1)).toBe(true)
  expect(lost.views.size).toBe(0)
  expect(await env.server(ran)).toMatchObject({ vmState: 'active', cellId: other.id })
  expect(await env.server(unbuilt)).toMatchObject({ vmState: 'active', cellId: other.id })
})
