import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import type { Executor } from '#common/db/database.ts'
import type { CellId } from '#common/ids.ts'
import type { ServerGroupRule } from '#openapi/wire/instance.ts'
import { sampleBuild } from '#test/env/sample-build.ts'
import type { CellRegistry } from '../../../cell-client/registry.ts'
import { type Reservation, Reservations } from '../../../cell-client/reservations.ts'
import type { CellRequirements } from '../../cells/cell-request.ts'
import { sampleCell } from '../../cells/testing.ts'
import { GroupJoins } from '../../server-groups/group-joins.ts'
import { chooseCells } from './choose-cells.ts'
import { HeldRoom } from './held-room.ts'

// Goal: requests that are decided at the same moment know of each other.

const { flavor } = sampleBuild()
const image = { diskFormat: 'qcow2', properties: {} }
const GROUP: ServerGroupRule = { id: 'group', policy: 'anti-affinity', maxPerHost: 5 }

/** Two equal cells of one host each, and a database whose answers come together. */
function world(membersRead: readonly { cell_id: string; members: number }[] = []) {
  const both = ['north', 'south'].map((name) => sampleCell(name, { hostsUp: 1 }))
  const reserved = new Map(both.map(({ id }) => [id, new Reservations(systemClock)]))
  const asReserved = () =>
    both.map((cell) => {
      const { resources, servers } = reserved.get(cell.id)!
      return { ...cell, reserved: resources, reservedServers: servers }
    })
  const asked: Reservation[] = []
  const cells = {
    cells: asReserved,
    asReserved,
    reserve: (id: CellId, resources: Reservation['resources']) => reserved.get(id)!.add(resources),
    asked: (_: string, reservation: Reservation) => asked.push(reservation),
  } as unknown as CellRegistry
  const rows = async () => {
    await turn()
    return membersRead
  }
  const db = { rows } as unknown as Executor
  const deps = {
    ...{ cells, clock: systemClock, groupJoins: new GroupJoins(systemClock) },
    schedulingPolicy: 'filter' as const,
    ...{ prices: undefined, random: () => 0 },
  }
  const choose = async (apart: ServerGroupRule | undefined, room: HeldRoom, count = 1) => {
    const required: CellRequirements = {
      ...{ flavor, image, zone: null, requestedHost: null, networks: [], group: null, apart },
      ...{ sameHost: undefined, cellHints: {}, policy: null, hints: {} },
    }
    const choices = await chooseCells(deps, db, required, { count, fitting: new Map(), room })
    return choices.map(({ chosen }) => chosen?.name)
  }
  const servers = () => [...reserved.values()].map((each) => each.servers)
  return { deps, choose, servers, asked }
}

const counts = (names: readonly (string | undefined)[]) =>
  ['north', 'south'].map((cell) => names.filter((name) => name === cell).length)

test('requests that are decided together are spread as if they had come one after the other', async () => {
  const { deps, choose, servers } = world()
  const rooms = Array.from({ length: 10 }, () => new HeldRoom(deps))

  const chosen = await Promise.all(rooms.map((room) => choose(undefined, room)))

  expect(counts(chosen.flat())).toEqual([5, 5])
  expect(servers()).toEqual([5, 5])
  for (const room of rooms) room[Symbol.dispose]()
  expect(servers()).toEqual([0, 0])
})

test('of a group that keeps its servers apart, those count that are not written yet', async () => {
  const { deps, choose } = world([{ cell_id: 'north', members: 3 }])
  const rooms = Array.from({ length: 7 }, () => new HeldRoom(deps))

  const chosen = await Promise.all(rooms.map((room) => choose(GROUP, room)))

  expect(counts(chosen.flat())).toEqual([2, 5])
  rooms.at(-1)![Symbol.dispose]()
})

test('a request that is decided again takes no more than once', async () => {
  const { deps, choose, servers, asked } = world()
  using room = new HeldRoom(deps)

  await choose(undefined, room, 4)
  expect(counts(await choose(undefined, room, 6))).toEqual([3, 3])
  expect(servers()).toEqual([3, 3])

  room.asked(['one', 'two', 'three', 'four'])
  expect(asked).toHaveLength(4)
  expect(servers().reduce((sum, each) => sum + each)).toBe(4)
})
