import { expect, test } from 'vitest'
import type { CellId, VolumeId } from '#common/ids.ts'
import {
  type CarriedVolume,
  carryTarget,
  planCarry,
  type SeenVolumes,
  type StepVolumeMove,
} from './carry-plan.ts'
import type { MoveProgress, NextMoveAction } from './server-move-plan.ts'

const HOME = 'home' as CellId
const AWAY = 'away' as CellId
const NOW = new Date(1_000_000)
const later = (ms: number) => new Date(NOW.getTime() + ms)

const WAIT = { kind: 'wait' }
const CARRY = { kind: 'begin', step: 'carrying' }
const CHANGE = { kind: 'begin', step: 'changing' } as const
const RETURN = { kind: 'begin', step: 'returning' } as const

const move = (change: Partial<MoveProgress> = {}): MoveProgress => ({
  ...{ fromCellId: HOME, toCellId: AWAY, formerState: 'active', step: 'offloading', stepAt: NOW },
  ...{ stepRequestId: 'req-1', isCancelled: false, failure: null, copyImageId: null },
  ...change,
})
const volume = (
  id: string,
  cellId: CellId | null,
  change: Partial<CarriedVolume> = {},
): CarriedVolume => ({ id: id as VolumeId, cellId, move: null, isAwaited: false, ...change })
const ended = (
  state: StepVolumeMove['state'],
  toCellId: CellId,
  message: string | null = null,
): StepVolumeMove => ({ state, toCellId, message })

function planned(
  next: NextMoveAction,
  of: Partial<MoveProgress>,
  volumes: readonly CarriedVolume[],
  { at = NOW, ...seen }: Partial<SeenVolumes> & { readonly at?: Date } = {},
) {
  const server = { cellId: HOME, isCellLost: false }
  return planCarry(next, move(of), { server, volumes, last: undefined, refusal: null, ...seen }, at)
}

test('a server without volumes, and a step that builds nothing, go on as they were decided', () => {
  expect(planned(CHANGE, {}, [])).toBe(CHANGE)
  const volumes = [volume('a', HOME)]
  for (const next of [
    { kind: 'begin', step: 'offloading' },
    { kind: 'wait' },
    { kind: 'end', state: 'done', message: null },
  ] as const)
    expect(planned(next, {}, volumes)).toBe(next)
})

test('volumes go one after the other, and the server after them', () => {
  const [a, b] = [volume('a', HOME), volume('b', HOME)]
  const [goneA, goneB] = [volume('a', AWAY), volume('b', AWAY)]
  const goes = volume('a', HOME, { move: { operationId: 'op', toCellId: AWAY } })
  const own = { step: 'carrying' } as const

  expect(planned(CHANGE, {}, [a, b])).toEqual(CARRY)
  expect(planned(CHANGE, own, [goes, b])).toEqual(WAIT)
  expect(planned(CHANGE, own, [goneA, b], { last: ended('done', AWAY) })).toEqual(CARRY)
  expect(planned(CHANGE, own, [goneA, goneB], { last: ended('done', AWAY) })).toBe(CHANGE)
})

test('a volume is begun once, and again where the gateway that was to begin it has ended', () => {
  const volumes = [volume('a', HOME)]
  const own = { step: 'carrying' } as const

  expect(planned(CHANGE, own, volumes)).toEqual(WAIT)
  expect(planned(CHANGE, own, volumes, { at: later(30_000) })).toEqual(WAIT)
  expect(planned(CHANGE, own, volumes, { at: later(30_001) })).toEqual(CARRY)
})

test('a cell that has still to delete what it had of a volume is waited for', () => {
  expect(planned(CHANGE, {}, [volume('a', HOME, { isAwaited: true })])).toEqual(WAIT)
})

test.each([
  ['failed', 'No store fits.', 'Volume b did not move. No store fits.'],
  ['cancelled', null, 'Volume b did not move. Its move was cancelled.'],
] as const)('a volume whose move %s turns the server back', (state, message, failure) => {
  const volumes = [volume('a', AWAY), volume('b', HOME)]
  const last = ended(state, AWAY, message)

  expect(planned(CHANGE, { step: 'carrying' }, volumes, { last })).toEqual({
    ...{ kind: 'turn-back', failure },
  })
})

test('a server that goes back takes its volumes along, and one that is on its way is called back', () => {
  const going = volume('b', HOME, { move: { operationId: 'op', toCellId: AWAY } })
  const coming = volume('b', AWAY, { move: { operationId: 'op', toCellId: HOME } })
  for (const back of [{ failure: 'No store fits.' }, { isCancelled: true }]) {
    expect(carryTarget(move(back))).toBe(HOME)
    expect(planned(RETURN, back, [volume('a', AWAY), going])).toEqual({
      ...{ kind: 'cancel', operationId: 'op' },
    })
    expect(planned(RETURN, back, [volume('a', AWAY)])).toEqual(CARRY)
    expect(planned(RETURN, back, [coming])).toEqual(WAIT)
    expect(planned(RETURN, back, [volume('a', HOME)])).toBe(RETURN)
  }
})

test('a volume that cannot go back is tried again each minute, and the way that failed before is no reason to wait', () => {
  const volumes = [volume('a', AWAY)]
  const back = { isCancelled: true, step: 'carrying' } as const

  const last = ended('failed', HOME, 'broken')
  expect(planned(RETURN, back, volumes, { last, at: later(60_000) })).toEqual(WAIT)
  expect(planned(RETURN, back, volumes, { last, at: later(60_001) })).toEqual(CARRY)
  expect(planned(RETURN, back, volumes, { last: ended('cancelled', AWAY) })).toEqual(CARRY)
})

test('a server that the other cell did not build goes back with its volumes, and is built where it was', () => {
  const nowhere = { cellId: null, isCellLost: false }
  const volumes = [volume('a', AWAY)]

  expect(planned(CHANGE, { step: 'changing' }, volumes, { server: nowhere })).toEqual({
    ...{ kind: 'turn-back', failure: 'The other cell did not build it.' },
  })
  expect(
    planned(CHANGE, { step: 'changing' }, volumes, { server: nowhere, refusal: 'broken' }),
  ).toEqual({ kind: 'turn-back', failure: 'broken' })
  const back = { failure: 'broken' }
  expect(planned(CHANGE, back, volumes, { server: nowhere })).toEqual(CARRY)
  expect(planned(CHANGE, back, [volume('a', HOME)], { server: nowhere })).toBe(CHANGE)
})

test('a server whose cell is lost ends its move, and is left to the recovery of the cell', () => {
  const server = { cellId: null, isCellLost: true }
  expect(planned(CHANGE, {}, [volume('a', AWAY)], { server })).toMatchObject({ state: 'failed' })
  expect(planned(CHANGE, {}, [], { server })).toBe(CHANGE)
})

test('volumes that were attached to a server for which no cell was chosen turn it back', () => {
  expect(planned(CHANGE, { toCellId: null }, [volume('a', HOME)])).toMatchObject({
    kind: 'turn-back',
  })
})
