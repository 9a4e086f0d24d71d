import { expect, test } from 'vitest'
import { type LostServer, planRecovery, type Recovered } from './recovery-plan.ts'

const NOW = new Date(1_000_000)
const PARALLEL = { parallel: 2 }

const lost = (id: string, change: Partial<LostServer> = {}): LostServer => ({
  ...{ id, name: id, projectId: 'p', vmState: 'error', cellId: null, attempt: 2, isBusy: false },
  ...{ fault: 'The server was lost.', startsFromVolume: false, lostCellId: 'lost' },
  ...change,
})
const move = (serverId: string, change: Partial<Recovered> = {}): Recovered => ({
  ...{ serverId, state: 'moving', method: 'image', tries: 1, reason: null, requestId: 'r' },
  ...{ notBefore: null, startedAt: NOW, endedAt: null },
  ...change,
})
const begun = (servers: readonly LostServer[], moves: readonly Recovered[] = []) =>
  planRecovery(PARALLEL, servers, moves, NOW).begin.map(({ id }) => id)

test('as many are built at a time as is asked for, and none that others change', () => {
  const servers = [lost('a', { isBusy: true }), lost('b'), lost('c'), lost('d')]
  expect(begun(servers)).toEqual(['b', 'c'])
  const building = lost('b', { vmState: 'building', cellId: 'south' })
  expect(begun([building, lost('c'), lost('d')], [move('b')])).toEqual(['c'])
  expect(begun([building, lost('c')], [move('b'), move('c')])).toEqual([])
})

test('a build ends where its server runs, is in ERROR in a cell, or is gone', () => {
  const servers = [
    lost('runs', { vmState: 'active', cellId: 'south' }),
    lost('broken', { vmState: 'error', cellId: 'south' }),
    lost('busy', { vmState: 'active', cellId: 'south', isBusy: true }),
  ]
  const moves = ['runs', 'broken', 'busy', 'deleted'].map((id) => move(id))

  const { changed, building } = planRecovery(PARALLEL, servers, moves, NOW)

  expect(changed.map(({ serverId, state }) => [serverId, state])).toEqual([
    ['runs', 'moved'],
    ['broken', 'gone'],
    ['deleted', 'gone'],
  ])
  expect(building).toBe(1)
})

test('a server that no cell built says why, and is tried again after a pause', () => {
  const server = lost('a', { fault: 'No valid host was found.' })
  const { changed, begin } = planRecovery(PARALLEL, [server], [move('a')], NOW)
  expect(changed).toMatchObject([{ state: 'waiting', reason: 'No valid host was found.' }])
  expect(begin).toEqual([])

  const [waits] = changed
  const at = (ms: number) => new Date(NOW.getTime() + ms)
  expect(planRecovery(PARALLEL, [server], [waits!], at(14_999)).begin).toEqual([])
  expect(planRecovery(PARALLEL, [server], [waits!], at(15_000)).begin).toEqual([server])
})

test('a build that another gateway has just begun to ask for is under way, and is tried again if that never asks', () => {
  const [server, other] = [lost('a'), lost('b')]
  const starting = move('a', { state: 'starting' })
  const plan = (at: number) =>
    planRecovery({ parallel: 1 }, [server, other], [starting], new Date(NOW.getTime() + at))

  expect(plan(60_000)).toMatchObject({ begin: [], changed: [], building: 1 })
  expect(plan(60_001)).toMatchObject({ changed: [{ serverId: 'a', state: 'waiting' }] })
})

test('a server that waits and is deleted is not waited for', () => {
  const { changed } = planRecovery(
    PARALLEL,
    [],
    [move('a', { state: 'waiting', reason: 'full' })],
    NOW,
  )
  expect(changed).toMatchObject([{ serverId: 'a', state: 'gone', reason: null, endedAt: NOW }])
})
