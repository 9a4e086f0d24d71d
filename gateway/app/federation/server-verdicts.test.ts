import { expect, test } from 'vitest'
import type { CellId } from '#common/ids.ts'
import {
  type Audit,
  cellVerdict,
  claimVerdict,
  guestVerdict,
  mappingVerdict,
} from './server-verdicts.ts'

const cellId = 'n' as CellId
const shown = { cellId, attempt: 2, vmState: 'active', host: 'north-1' } as const
const view = { attempt: 2, vmState: 'active', host: 'north-1', hostId: '1', powerState: 1 }
const audit = (change: object = {}, heldOn = ['1']): Audit =>
  ({ view: { ...view, ...change }, heldOn }) as Audit
const mapping = (change: object) => mappingVerdict(shown, { ...shown, ...change }, () => 'north')

test.each([
  [mapping({}), 'ok', 'in cell north, attempt 2'],
  [mapping({ attempt: 3 }), 'failed', 'attempt 2; mapped in cell north, attempt 3'],
  [mapping({ cellId: null }), 'failed', 'mapped in no cell'],
  [mappingVerdict(shown, undefined, String), 'failed', 'mapped to no cell'],
  [cellVerdict(shown, audit()), 'ok', 'on north-1'],
  [cellVerdict(shown, { view: null, heldOn: [] }), 'failed', 'does not have it'],
  [cellVerdict(shown, audit({ host: 'north-2' })), 'failed', 'on north-2; shown is'],
  [claimVerdict(audit()), 'ok', 'on north-1'],
  [claimVerdict(audit({}, [])), 'failed', 'none is held on north-1'],
  [claimVerdict(audit({}, ['1', '2'])), 'failed', 'held on 2'],
  [claimVerdict(audit({ hostId: null }, [])), 'ok', 'none is needed'],
  [claimVerdict({ view: null, heldOn: ['1'] }), 'failed', 'held on 1'],
  [guestVerdict(view, 1), 'ok', 'as its cell says'],
  [guestVerdict(view, 4), 'failed', 'says power state 4, its cell 1'],
  [guestVerdict(view, null), 'failed', 'no such guest'],
])('%o is %s: %s', (verdict, result, message) => {
  expect(verdict).toEqual({ result, detail: expect.stringContaining(message) })
})
