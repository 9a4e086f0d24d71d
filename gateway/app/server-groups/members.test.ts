import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isFailure } from '#common/errors.ts'
import { type CellId, newId } from '#common/ids.ts'
import type { GroupPolicy } from '#openapi/wire/instance.ts'
import { CoreEnv, orderFor, work } from '#test/env/compute-core.ts'
import { events } from '../../db/schema/events.ts'
import {
  findServerGroup,
  type GroupRecord,
  insertServerGroup,
  membersOfGroup,
} from '../../db/server-groups.ts'
import type { RunningCompute } from '../open-compute.ts'
import { startServers } from '../servers/boot/start-servers.ts'
import { GroupPlacedElsewhere } from './members.ts'

let env: CoreEnv
let core: RunningCompute

beforeAll(async () => {
  env = await CoreEnv.open('members', ['north', 'south'])
  core = await env.core()
})
afterAll(async () => {
  await core?.[Symbol.asyncDispose]()
  await env?.[Symbol.asyncDispose]()
})

async function makeGroup(policy: GroupPolicy): Promise<GroupRecord> {
  const { projectId, userId } = orderFor(env.cells[0]!).servers[0]!.row
  const rule = { name: 'the "group"', policy, maxPerHost: null, cellId: null }
  const group = { id: newId<string>(), projectId, userId, ...rule }
  await env.db.transaction((tx) => insertServerGroup(tx, group))
  return group
}

/** Boots into the group as it was read before all of them, at once; the errors of those that were refused. */
async function bootTogether(group: GroupRecord, cells: readonly (typeof env.cells)[number][]) {
  const orders = cells.map((cell) => ({ ...orderFor(cell), group }))
  const ends = await Promise.allSettled(orders.map((order) => startServers(core, work(), order)))
  return ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : []))
}

test('of servers that join at once no more are accepted than a group may have', async () => {
  const group = await makeGroup('anti-affinity')
  const cells = Array.from({ length: 14 }, (_, nth) => env.cells[nth % 2]!)

  const refused = await bootTogether(group, cells)

  expect(refused).toHaveLength(4)
  expect(refused.every((error) => isFailure(error, 'over-quota'))).toBe(true)
  expect(await membersOfGroup(env.db, group.id)).toHaveLength(10)
})

test('servers that are to be together and were chosen for two cells at once are in the first one’s', async () => {
  const group = await makeGroup('affinity')
  const cells = Array.from({ length: 6 }, (_, nth) => env.cells[nth % 2]!)

  const refused = await bootTogether(group, cells)

  expect(refused).toHaveLength(3)
  expect(refused.every((error) => error instanceof GroupPlacedElsewhere)).toBe(true)
  const { cellId, members } = (await findServerGroup(env.db, group.id))!
  const placed = await Promise.all(members.map(async (id) => (await env.server(id))?.cellId))
  expect(new Set<CellId | null | undefined>(placed)).toEqual(new Set([cellId]))
  expect(members).toHaveLength(3)
})

test('servers in another cell than most of a group that only prefers to be together join it', async () => {
  const group = await makeGroup('soft-affinity')

  expect(await bootTogether(group, [env.cells[0]!, env.cells[1]!])).toEqual([])

  const { cellId, members } = (await findServerGroup(env.db, group.id))!
  expect(env.cells.map(({ id }) => id)).toContain(cellId)
  expect(members).toHaveLength(2)
})

test('a boot into a group that is gone says so', async () => {
  const group = { ...(await makeGroup('anti-affinity')), id: newId<string>() }

  const [refused] = await bootTogether(group, [env.cells[0]!])

  expect(refused).toMatchObject({
    kind: 'invalid',
    message: `Instance group ${group.id} could not be found.`,
  })
})

test('the event of servers that joined shows the group with all members', async () => {
  const group = await makeGroup('anti-affinity')
  await bootTogether(group, [env.cells[0]!])
  await bootTogether(group, [env.cells[1]!])

  await expect.poll(() => eventsOf(group.id)).toHaveLength(2)
  const ofGroup = await eventsOf(group.id)
  const members = await membersOfGroup(env.db, group.id)
  expect(ofGroup.map(({ resource }) => resource!.members.length)).toEqual([1, 2])
  expect(ofGroup.at(-1)).toMatchObject({
    action: 'add_member',
    message: group.name,
    resource: {
      ...{ uuid: group.id, name: group.name, project_id: group.projectId, hosts: null },
      ...{ policy: 'anti-affinity', policies: ['anti-affinity'], rules: {} },
    },
  })
  expect(ofGroup.at(-1)!.resource!.members.toSorted()).toEqual(members)
})

/** Once they have their numbers. */
async function eventsOf(group: string) {
  const rows = await env.db.orm
    .select({ details: events.details })
    .from(events)
    .where(eq(events.type, 'server-group.changed'))
    .orderBy(events.n)
  return rows
    .map(({ details }) => JSON.parse(details) as { readonly resource?: Shown })
    .filter(({ resource }) => resource?.uuid === group)
}

interface Shown {
  readonly uuid: string
  readonly members: readonly string[]
}
