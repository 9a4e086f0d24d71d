import { expect, test } from 'vitest'
import { type CellId, newId } from '#common/ids.ts'
import { planFailover, type WatchedCell } from './failover-plan.ts'

const LONG_MS = 1_000_000
const up = (): WatchedCell => ({
  id: newId<CellId>(),
  isReachable: true,
  isLost: false,
  silentMs: 0,
  isSilentForAll: false,
  recoverAfterS: 60,
  fenceAfterS: 30,
})
const silent = (change: Partial<WatchedCell> = {}): WatchedCell => ({
  ...up(),
  ...{ isReachable: false, silentMs: 60_001, isSilentForAll: true },
  ...change,
})
const given = (cell: WatchedCell, watchedMs = LONG_MS) =>
  planFailover([cell, up()], watchedMs).lose.length === 1

test('a cell is given up that no gateway has heard for as long as its operator says', () => {
  expect(given(silent())).toBe(true)
  expect(given(silent({ silentMs: 60_000 }))).toBe(false)
  expect(given(silent({ isSilentForAll: false }))).toBe(false)
  expect(given(silent({ recoverAfterS: null }))).toBe(false)
  expect(given(silent({ isLost: true }))).toBe(false)
})

test('a cell is not given up whose hosts would go on', () => {
  expect(given(silent({ fenceAfterS: undefined }))).toBe(false)
})

test('a cell that fell silent before this gateway began is given up as soon as this one has watched for long enough', () => {
  const unheard = silent({ silentMs: undefined })
  expect(given(unheard, 60_001)).toBe(true)
  expect(given(unheard, 60_000)).toBe(false)
  expect(given({ ...unheard, isSilentForAll: false })).toBe(false)
})

test('a gateway that heard most cells only a short while ago gives none up', () => {
  expect(given(silent(), 60_000)).toBe(false)
})

test('none is given up while most cells are unreachable', () => {
  expect(planFailover([silent(), silent(), up()], LONG_MS)).toEqual({ lose: [], isBlind: true })
  expect(planFailover([silent()], LONG_MS)).toEqual({ lose: [], isBlind: true })
  const [one, two] = [silent(), silent()]
  expect(planFailover([one, two, up(), up()], LONG_MS)).toEqual({
    ...{ lose: [one.id, two.id], isBlind: false },
  })
  expect(planFailover([silent(), silent({ isLost: true }), up()], LONG_MS).isBlind).toBe(false)
})
