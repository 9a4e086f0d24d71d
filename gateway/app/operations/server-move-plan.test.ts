import { expect, test } from 'vitest'
import type { CellId } from '#common/ids.ts'
import { VM_STATES } from '#common/states/instance-states.ts'
import type { MoveCopy } from './move-copy-plan.ts'
import { type MovedServer, type MoveProgress, planServerMove } from './server-move-plan.ts'

const HOME = 'home' as CellId
const AWAY = 'away' as CellId
const NOW = new Date(1_000_000)
const later = (ms: number) => new Date(NOW.getTime() + ms)

const move = (change: Partial<MoveProgress> = {}): MoveProgress => ({
  fromCellId: HOME,
  toCellId: AWAY,
  formerState: 'active',
  step: 'waiting',
  stepAt: NOW,
  stepRequestId: 'req-1',
  isCancelled: false,
  failure: null,
  copyImageId: null,
  ...change,
})
const NO_COPY: MoveCopy = {
  isPossible: false,
  hostId: null,
  isWhole: false,
  isFetched: false,
  hasBegun: false,
}
const server = (change: Partial<MovedServer> = {}): MovedServer => ({
  vmState: 'active',
  cellId: HOME,
  attempt: 1,
  isCellLost: false,
  isBusy: false,
  isDeleting: false,
  ...change,
})
const planned = (
  of: Partial<MoveProgress>,
  is: Partial<MovedServer>,
  {
    refusal = null,
    at = NOW,
    ...copy
  }: Partial<MoveCopy> & { refusal?: string | null; at?: Date } = {},
) => planServerMove(move(of), server(is), refusal, { ...NO_COPY, ...copy }, at)

const STEPS = [
  ...(['waiting', 'copying', 'fetching', 'saving', 'offloading', 'changing'] as const),
  ...(['returning', 'forgetting', 'stopping'] as const),
]
const COPY = { copyImageId: 'copy' } as const
const begin = (step: string) => ({ kind: 'begin', step })
const WAIT = { kind: 'wait' }
const OFFLOADED = { vmState: 'shelved_offloaded' } as const
const SHELVED = { vmState: 'shelved' } as const

test('the steps follow one another, whichever of them the cell did by itself', () => {
  expect(planned({}, {})).toEqual(begin('saving'))
  expect(planned({ step: 'saving' }, SHELVED)).toEqual(begin('offloading'))
  expect(planned({ step: 'saving' }, OFFLOADED)).toEqual(begin('changing'))
  expect(planned({ step: 'offloading' }, OFFLOADED)).toEqual(begin('changing'))
  const there = { cellId: AWAY }
  expect(planned({ step: 'changing' }, { ...there, vmState: 'building' })).toEqual(WAIT)
  expect(planned({ step: 'changing' }, there)).toEqual({
    kind: 'end',
    state: 'done',
    message: null,
  })
})

test('a server that was shut off is shut off before the move is done', () => {
  const off = { formerState: 'stopped' } as const
  const there = { cellId: AWAY }

  expect(planned({ ...off, step: 'changing' }, there)).toEqual(begin('stopping'))
  expect(planned({ ...off, step: 'stopping' }, there)).toEqual(WAIT)
  expect(planned({ ...off, step: 'stopping' }, { ...there, vmState: 'stopped' })).toMatchObject({
    state: 'done',
  })
})

test('nothing is done while another request changes the server, and no step is begun twice at once', () => {
  expect(planned({}, { isBusy: true })).toEqual(WAIT)
  for (const step of ['offloading', 'changing', 'returning'] as const) {
    const is = step === 'offloading' ? SHELVED : OFFLOADED
    const of = { step, isCancelled: step === 'returning' }
    expect(planned(of, is)).toEqual(WAIT)
    expect(planned(of, is, { at: later(30_001) })).toEqual(begin(step))
  }
  expect(planned({ step: 'saving' }, {})).toEqual(WAIT)
})

test('a disk that was not saved ends the move, with the reason as soon as there is one', () => {
  expect(planned({ step: 'saving' }, {}, { refusal: 'no disk' })).toEqual({
    kind: 'end',
    state: 'failed',
    message: 'no disk',
  })
  const late = { at: later(30_001), hasBegun: true }
  expect(planned({ step: 'saving' }, {}, late)).toMatchObject({ state: 'failed' })
})

test('a saving that a gateway noted, and did not begin before it ended, is begun again', () => {
  const late = { at: later(30_001) }
  for (const vmState of ['active', 'stopped'] as const) {
    expect(planned({ step: 'saving' }, { vmState }, late)).toEqual(begin('saving'))
    expect(planned({ ...COPY, step: 'saving' }, { vmState }, late)).toEqual(begin('saving'))
  }
  const cancelled = { step: 'saving', isCancelled: true } as const
  expect(planned(cancelled, {}, late)).toMatchObject({ kind: 'end', state: 'cancelled' })
})

test('a move that is cancelled, or that no cell takes, goes back to what it was', () => {
  for (const back of [{ isCancelled: true }, { failure: 'full' }] as const) {
    expect(planned({ ...back, step: 'saving' }, SHELVED)).toEqual(begin('returning'))
    expect(planned({ ...back, step: 'offloading' }, OFFLOADED)).toEqual(begin('returning'))
    const state = 'failure' in back ? 'failed' : 'cancelled'
    expect(planned({ ...back, step: 'returning' }, {})).toMatchObject({ kind: 'end', state })
    const wasOff = { ...back, step: 'returning', formerState: 'stopped' } as const
    expect(planned(wasOff, {})).toEqual(begin('stopping'))
    expect(planned({ ...wasOff, step: 'stopping' }, { vmState: 'stopped' })).toMatchObject({
      state,
    })
  }
  expect(planned({ isCancelled: true }, {})).toMatchObject({ state: 'cancelled' })
})

test('a cancel that comes too late does not undo a move', () => {
  expect(planned({ isCancelled: true, step: 'changing' }, { cellId: AWAY })).toMatchObject({
    state: 'done',
  })
})

test('a server in no cell is tried again every ten seconds', () => {
  const nowhere = { cellId: null, vmState: 'error' } as const

  expect(planned({ step: 'changing' }, nowhere, { at: later(10_000) })).toEqual(WAIT)
  expect(planned({ step: 'changing' }, nowhere, { at: later(10_001) })).toEqual(begin('changing'))
})

test('a server that is gone, or that others changed, ends the move with a reason', () => {
  const message = 'The server was deleted.'
  expect(planServerMove(move(), undefined, null, NO_COPY, NOW)).toMatchObject({
    state: 'failed',
    message,
  })
  expect(planned({}, { isDeleting: true, isBusy: true })).toMatchObject({
    state: 'failed',
    message,
  })
  expect(planned({}, { vmState: 'paused' })).toMatchObject({
    message: 'A server that is paused is not moved.',
  })
  expect(planned({ step: 'changing' }, { cellId: AWAY, vmState: 'error' })).toMatchObject({
    state: 'failed',
  })
})

test('every state of a server has an answer at every step', () => {
  const servers = VM_STATES.flatMap((vmState) =>
    [HOME, AWAY, null].map((cellId) => ({ vmState, cellId })),
  )
  for (const step of STEPS)
    for (const is of servers)
      for (const copyImageId of ['copy', null])
        expect(planned({ step, copyImageId }, is).kind).toMatch(/^(wait|begin|end)$/)
})

test('a server that runs is copied before it is stopped, where both cells know how', () => {
  const possible = { isPossible: true }
  expect(planned({}, {}, possible)).toEqual(begin('copying'))
  expect(planned({}, { vmState: 'stopped' }, possible)).toEqual(begin('saving'))
  expect(planned({ isCancelled: true }, {}, possible)).toMatchObject({ state: 'cancelled' })

  const copying = { ...COPY, step: 'copying' } as const
  expect(planned(copying, {})).toEqual(WAIT)
  expect(planned(copying, {}, { isWhole: true })).toEqual(WAIT)
  expect(planned(copying, {}, { hasBegun: true, isWhole: true })).toEqual(begin('fetching'))
  const fetching = { ...COPY, step: 'fetching' } as const
  expect(planned(fetching, {})).toEqual(WAIT)
  expect(planned(fetching, {}, { isFetched: true })).toEqual(begin('saving'))
  expect(planned(fetching, { vmState: 'stopped' }, { isFetched: true })).toEqual(begin('saving'))
  expect(planned(fetching, {}, { at: later(3_600_000) })).toEqual(WAIT)
  expect(planned(fetching, {}, { at: later(3_600_001) })).toEqual(begin('saving'))
})

test('a copy that fails, or has not been begun, leaves the server to be saved in one pass', () => {
  const copying = { ...COPY, step: 'copying' } as const
  expect(planned(copying, {}, { refusal: 'no room', isWhole: true })).toEqual(begin('saving'))
  expect(planned(copying, {}, { at: later(30_000) })).toEqual(WAIT)
  expect(planned(copying, {}, { at: later(30_001) })).toEqual(begin('saving'))
})

test('the host of a server that stays forgets what it noted before the move ends', () => {
  const forgetting = (failure: string | null) => ({ ...begin('forgetting'), failure })
  for (const step of ['copying', 'fetching'] as const)
    expect(planned({ ...COPY, step, isCancelled: true }, {})).toEqual(forgetting(null))
  for (const vmState of ['active', 'paused'] as const)
    expect(planned({ ...COPY, step: 'saving' }, { vmState }, { refusal: 'no disk' })).toEqual(
      forgetting('no disk'),
    )
  const back = { ...COPY, step: 'returning', failure: 'full' } as const
  expect(planned(back, {})).toEqual(forgetting('full'))

  const ending = { ...back, step: 'forgetting' } as const
  expect(planned(ending, {})).toEqual(WAIT)
  expect(planned(ending, {}, { at: later(30_001) })).toEqual(forgetting('full'))
  const end = { kind: 'end', state: 'failed', message: 'full' }
  expect(planned(ending, {}, { hasBegun: true, refusal: 'no host' })).toEqual(end)
  expect(planned({ ...back, step: 'saving' }, { vmState: 'error' })).toEqual(end)
  expect(planned({ ...back, ...COPY }, { isDeleting: true })).toMatchObject({ kind: 'end' })
})
