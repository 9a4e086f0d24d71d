import { expect, test } from 'vitest'
import {
  afterFailure,
  type DrainedServer,
  type DrainMove,
  type DrainSettings,
  estimatedEnd,
  methodCount,
  planDrain,
} from './drain-plan.ts'

// Goal: each server leaves its host by the gentlest way there is, a bounded number at a time, and none is tried in vain.

const NOW = new Date('2026-01-01T00:00:00Z')
const later = (ms: number) => new Date(NOW.getTime() + ms)
const SETTINGS: DrainSettings = {
  ...{ hostId: 'here', parallel: 2, liveOnly: false, mayBegin: true, isUp: true },
  toOtherCells: false,
  evacuates: false,
  othersServe: true,
  capabilities: new Set(['move', 'liveMove']),
}

const server = (id: string, change: Partial<DrainedServer> = {}): DrainedServer => ({
  ...{ id, vmState: 'active', hostId: 'here', isBusy: false },
  ...change,
})
const move = (serverId: string, change: Partial<DrainMove> = {}): DrainMove => ({
  ...{ serverId, state: 'moving', method: 'live', tries: 1, reason: null, requestId: 'r' },
  ...{ notBefore: null, startedAt: NOW, endedAt: null },
  ...change,
})

test.each<[DrainedServer['vmState'], Partial<DrainSettings>, string | undefined]>([
  ['active', {}, 'live'],
  ['paused', {}, 'live'],
  ['stopped', {}, 'cold'],
  ['shelved', {}, 'offload'],
  ['active', { capabilities: new Set(['move']) }, 'cold'],
  ['active', { capabilities: new Set(['move']), liveOnly: true }, undefined],
  ['active', { capabilities: new Set() }, undefined],
  ['paused', { capabilities: new Set(['move']) }, undefined],
  ['error', {}, undefined],
  ['active', { isUp: false }, undefined],
  ['active', { isUp: false, evacuates: true }, 'evacuate'],
  ['stopped', { isUp: false, evacuates: true }, 'evacuate'],
  ['error', { isUp: false, evacuates: true }, 'evacuate'],
  ['suspended', { isUp: false, evacuates: true }, undefined],
  ['active', { evacuates: true }, 'live'],
  ['suspended', {}, undefined],
  ['resized', {}, undefined],
])('a server that is %s leaves a host with %o by %s', (vmState, change, method) => {
  const plan = planDrain({ ...SETTINGS, ...change }, [server('a', { vmState })], [], NOW)

  expect(plan.begin).toEqual(method === undefined ? [] : [{ serverId: 'a', method }])
  expect(plan.stuck.map(({ serverId }) => serverId)).toEqual(method === undefined ? ['a'] : [])
})

test('where no other host of the cell serves, none is tried there: servers go to another cell at once, or wait', () => {
  const capabilities = new Set(['move', 'liveMove', 'snapshot'])
  const alone = { ...SETTINGS, capabilities, othersServe: false }
  const servers = [
    server('active'),
    server('stopped', { vmState: 'stopped' }),
    server('paused', { vmState: 'paused' }),
    server('shelved', { vmState: 'shelved' }),
  ]
  const reason =
    'No valid host was found. There are not enough hosts available. Every other host of its cell is cordoned, or does not answer.'
  const stays = (...ids: string[]) => ids.map((serverId) => ({ serverId, reason }))

  const elsewhere = planDrain({ ...alone, toOtherCells: true, parallel: 9 }, servers, [], NOW)
  expect(elsewhere.begin).toEqual([
    { serverId: 'active', method: 'cell' },
    { serverId: 'stopped', method: 'cell' },
    { serverId: 'shelved', method: 'offload' },
  ])
  expect(elsewhere.stuck).toEqual(stays('paused'))

  const here = planDrain({ ...alone, parallel: 9 }, servers, [], NOW)
  expect(here.begin).toEqual([{ serverId: 'shelved', method: 'offload' }])
  expect(here.stuck).toEqual(stays('active', 'stopped', 'paused'))

  // The driver is why, where it moves no guests anyway.
  const fixed = { ...alone, capabilities: new Set<string>() }
  expect(planDrain(fixed, [server('a')], [], NOW).stuck[0]?.reason).toMatch(/^The driver/)
})

test('servers that may leave their cell go to another one, also where the drain was not asked to', () => {
  const capabilities = new Set(['move', 'liveMove', 'snapshot'])
  const alone = { ...SETTINGS, capabilities, othersServe: false, parallel: 9 }
  const free = server('free', { mayLeaveCell: true })

  const plan = planDrain(alone, [free, server('bound')], [], NOW)
  expect(plan.begin).toEqual([{ serverId: 'free', method: 'cell' }])
  expect(plan.stuck.map(({ serverId }) => serverId)).toEqual(['bound'])
  expect([methodCount(alone, free), methodCount(alone, {})]).toEqual([1, 0])
})

test('after a failure in another cell there is a pause, where no other host of the cell serves', () => {
  const capabilities = new Set(['move', 'liveMove', 'snapshot'])
  const alone = { ...SETTINGS, capabilities, toOtherCells: true, othersServe: false }

  expect(methodCount(alone, {})).toBe(1)
  expect(methodCount({ ...alone, othersServe: true }, {})).toBe(3)
})

test('no more servers move at a time than may, and busy ones and those elsewhere are left alone', () => {
  const servers = [
    server('moving', { isBusy: true }),
    server('busy', { isBusy: true }),
    server('first'),
    server('second'),
    server('elsewhere', { hostId: 'there' }),
  ]
  const moves = [move('moving')]

  expect(planDrain(SETTINGS, servers, moves, NOW).begin).toEqual([
    { serverId: 'first', method: 'live' },
  ])
  expect(planDrain({ ...SETTINGS, mayBegin: false }, servers, moves, NOW).begin).toEqual([])
})

test('servers not tried yet come first, and then those that have waited longest', () => {
  const servers = ['a', 'b', 'c', 'd'].map((id) => server(id))
  const waits = (id: string, ms: number) =>
    move(id, { state: 'waiting', reason: 'full', notBefore: later(-ms) })
  const moves = [waits('a', 1), waits('b', 2), waits('d', -1)]
  const { begin } = planDrain({ ...SETTINGS, parallel: 3 }, servers, moves, NOW)

  expect(begin.map(({ serverId }) => serverId)).toEqual(['c', 'b', 'a'])
})

test('a move has ended where its server is elsewhere, deleted, or back', () => {
  const servers = [
    server('moved', { hostId: 'there' }),
    server('back'),
    server('cold', { hostId: 'there', vmState: 'resized' }),
    server('offloaded', { hostId: null, vmState: 'shelved_offloaded' }),
  ]
  const moves = [
    move('moved'),
    move('back'),
    move('cold', { method: 'cold' }),
    move('deleted'),
    move('offloaded', { method: 'offload' }),
  ]

  const plan = planDrain(SETTINGS, servers, moves, NOW)

  expect(plan.ended.map(({ serverId, state }) => [serverId, state])).toEqual([
    ['moved', 'moved'],
    ['deleted', 'gone'],
    ['offloaded', 'moved'],
  ])
  expect(plan.failed.map(({ serverId }) => serverId)).toEqual(['back'])
  expect(plan.confirm).toEqual(['cold'])
  expect(plan.begin).toEqual([])
})

test('a server that waits and leaves the host otherwise is not waited for', () => {
  const waiting = move('away', { state: 'waiting', reason: 'full' })

  expect(planDrain(SETTINGS, [], [waiting], NOW).ended).toEqual([
    { ...waiting, state: 'gone', reason: null, endedAt: NOW },
  ])
})

test('after a failure the next method is tried at once, and after all of them there is a pause, which grows', () => {
  const failed = (tries: number) => afterFailure(move('a', { tries }), 'full', 2, NOW)
  const begun = (of: DrainMove, at: Date) => planDrain(SETTINGS, [server('a')], [of], at).begin

  expect(failed(1)).toMatchObject({ state: 'waiting', reason: 'full' })
  expect(begun(failed(1), NOW)).toEqual([{ serverId: 'a', method: 'cold' }])
  expect(begun(failed(2), later(14_000))).toEqual([])
  expect(begun(failed(2), later(15_000))).toEqual([{ serverId: 'a', method: 'live' }])
  expect(begun(failed(4), later(29_000))).toEqual([])
  expect(begun(failed(4), later(30_000))).toEqual([{ serverId: 'a', method: 'live' }])
  expect(failed(400).notBefore).toEqual(later(480_000))
})

test('the end is estimated by the moves that have ended', () => {
  const pace = { remaining: 4, parallel: 2, now: NOW }
  const done = [
    move('a', { state: 'moved', endedAt: later(10_000) }),
    move('b', { state: 'moved', endedAt: later(20_000) }),
  ]

  expect(estimatedEnd([move('c')], pace)).toBeUndefined()
  expect(estimatedEnd([...done, move('c')], pace)).toEqual(later(30_000))
})

test('a server that stays with its host by its policy is left there, and stopped where it is not to start again', () => {
  const settings = { ...SETTINGS, isUp: false, evacuates: true }
  const servers = [
    server('goes'),
    server('waits', { stays: { how: 'restart', policy: 'pets' } }),
    server('ends', { stays: { how: 'none', policy: 'lab' } }),
    server('ending', { stays: { how: 'none', policy: 'lab' }, isBusy: true }),
    server('off', { stays: { how: 'none', policy: 'lab' }, vmState: 'stopped' }),
  ]
  const ended = 'It stays on its host, and is not started with it, as placement policy lab says.'

  const plan = planDrain(settings, servers, [], NOW)

  expect(plan.begin).toEqual([{ serverId: 'goes', method: 'evacuate' }])
  expect(plan.stop).toEqual(['ends'])
  expect(plan.stuck).toEqual([
    {
      serverId: 'waits',
      reason: 'It is started again with its host, as placement policy pets says.',
    },
    ...['ends', 'ending', 'off'].map((serverId) => ({ serverId, reason: ended })),
  ])
  // A host that is back has started it already.
  expect(planDrain({ ...settings, isUp: true }, servers, [], NOW).stop).toEqual([])
})
