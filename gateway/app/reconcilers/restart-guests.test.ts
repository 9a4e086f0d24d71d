import { afterAll, beforeAll, expect, test } from 'vitest'
import { Failure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import { POWER_STATES } from '#common/states/instance-states.ts'
import { waitFor } from '#common/wait-for.ts'
import { CoreEnv, orderFor, work } from '#test/env/compute-core.ts'
import type { ScriptedCell } from '#test/env/scripted-cell.ts'
import { insertPlacementPolicy, NO_RULES, replaceBindings } from '../../db/placement-policies.ts'
import { guestRestarts } from '../../db/schema/protections.ts'
import type { RunningCompute } from '../open-compute.ts'
import { operatorOf } from '../operations/operator-of.ts'
import { actOnServer } from '../servers/acts/act-on-server.ts'
import { startServers } from '../servers/boot/start-servers.ts'

// Goal: a guest that is to be started again is, also where its cell refuses that once, and never against its owner's will.

const LIMIT_MS = 30_000

let env: CoreEnv
let core: RunningCompute
let cell: ScriptedCell
/** By their operations: a gateway asks again where an answer is late. */
let starts: Set<string>

beforeAll(async () => {
  env = await CoreEnv.open('restart_guests', ['north'])
  cell = env.cells[0]!
  const rules = { ...NO_RULES, onGuestFailure: 'restart' } as const
  const bindings = { isDefault: true, projectIds: [], flavorIds: [] }
  const policy = { name: 'always-on', description: null, isSelectable: false, rules, ...bindings }
  await env.db.transaction(async (tx) => {
    const id = newId<string>()
    await insertPlacementPolicy(tx, id, policy)
    await replaceBindings(tx, id, bindings)
  })
  core = await env.core()
})
afterAll(async () => {
  await core?.[Symbol.asyncDispose]()
  await env?.[Symbol.asyncDispose]()
})

/** The cell refuses so many starts of a server whose guest has crashed, each of which it counts. */
async function crashed(refusals: number): Promise<string> {
  starts = new Set()
  const refused = new Set<string>()
  cell.overrides = {
    'instance.act': (ask) => {
      if (ask.act.name !== 'start') return cell.act(ask)
      const { id } = ask.operation
      starts.add(id)
      if (starts.size <= refusals) refused.add(id)
      if (refused.has(id)) throw new Failure('conflict', 'Its host is busy.')
      return cell.act(ask)
    },
  }
  const order = orderFor(cell)
  const { id } = order.servers[0]!.row
  await startServers(core, work(), order)
  await env.until(id, ({ vmState, taskState }) => vmState === 'active' && taskState === null)
  const view = cell.change(id, { vmState: 'stopped', powerState: POWER_STATES.crashed })
  cell.emit([{ kind: 'instance', view }])
  return id
}

const untilStarts = (count: number) =>
  waitFor(`${count} starts`, () => starts.size >= count, LIMIT_MS)

test('a start that the cell refuses is tried again after a pause', async () => {
  const id = await crashed(1)

  await untilStarts(1)
  await env.until(id, ({ vmState }) => vmState === 'stopped')
  await env.until(id, ({ vmState }) => vmState === 'active')

  expect(starts.size).toBe(2)
})

test('a server whose owner wants it stopped is not started, though its start waited', async () => {
  const id = await crashed(1)
  await untilStarts(1)
  const restarts = async () => env.db.orm.select().from(guestRestarts)
  const rowOf = async () => (await restarts()).find(({ serverId }) => serverId === id)
  await waitFor('it to wait', async () => (await rowOf())?.dueAt != null, LIMIT_MS)
  const owner = operatorOf({ userId: 'owner' })

  await actOnServer(core, owner, id, { name: 'start' })
  await env.until(id, ({ vmState }) => vmState === 'active')
  await actOnServer(core, owner, id, { name: 'stop' })
  await env.until(id, ({ vmState }) => vmState === 'stopped')

  expect(await rowOf()).toMatchObject({ dueAt: null })
})
