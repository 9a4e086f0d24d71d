import { expect, test } from 'vitest'
import { type LostServer, planRecovery, type Recovered } from './recovery-plan.ts'

const NOW = new Date(1_000_000)

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
const due = (servers: readonly LostServer[], moves: readonly Recovered[] = []) =>
  planRecovery(servers, moves, NOW).due.map(({ id }) => id)

test('servers are due that are in no cell, and that neither others change nor the recovery builds', () => {
  const servers = [lost('a', { isBusy: true }), lost('b'), lost('c'), lost('d')]
  expect(due(servers)).toEqual(['b', 'c', 'd'])
  const building = lost('b', { vmState: 'building', cellId: 'south' })
  expect(due([building, lost('c'), lost('d')], [move('b')])).toEqual(['c', 'd'])
  expect(due([building, lost('c')], [move('b'), move('c')])).toEqual([])
})

test('those not tried yet come first, and then those that have waited longest', () => {
  const waits = (id: string, ms: number) =>
    move(id, { state: 'waiting', reason: 'full', notBefore: new Date(NOW.getTime() - ms) })
  const servers = ['a', 'b', 'c', 'd'].map((id) => lost(id))
  expect(due(servers, [waits('a', 1), waits('b', 2), waits('d', -1)])).toEqual(['c', 'b', 'a'])
})

test('a build ends where its server runs, is in ERROR in a cell, or is gone', () => {
  const servers = [
    lost('runs', { vmState: 'active', cellId: 'south' }),
    lost('broken', { vmState: 'error', cellId: 'south' }),
    lost('busy', { vmState: 'active', cellId: 'south', isBusy: true }),
  ]
  const moves = ['runs', 'broken', 'busy', 'deleted'].map((id) => move(id))

  const { changed, building } = planRecovery(servers, moves, NOW)

  expect(changed.map(({ serverId, state }) => [serverId, state])).toEqual([
    ['runs', 'moved'],
    ['broken', 'gone'],
    ['deleted', 'gone'],
  ])
  expect(building).toBe(1)
})

test('a server that no cell built says why, and is tried again after a pause', () => {
  const server = lost('a', { fault: 'No valid host was found.' })
  const { changed, due: now } = planRecovery([server], [move('a')], NOW)
  expect(changed).toMatchObject([{ state: 'waiting', reason: 'No valid host was found.' }])
  expect(now).toEqual([])

  const [waits] = changed
  const at = (ms: number) => new Date(NOW.getTime() + ms)
  expect(planRecovery([server], [waits!], at(14_999)).due).toEqual([])
  expect(planRecovery([server], [waits!], at(15_000)).due).toEqual([server])
})

test('a server that waits and is deleted is not waited for', () => {
  const { changed } = planRecovery([], [move('a', { state: 'waiting', reason: 'full' })], NOW)
  expect(changed).toMatchObject([{ serverId: 'a', state: 'gone', reason: null, endedAt: NOW }])
})
