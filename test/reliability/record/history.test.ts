import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { existence, finalState, isImpossible, possible } from './history.ts'
import { RunRecord, type Value } from './record.ts'

// Goal: a reading is called impossible if and only if no order of the requests explains it.

const THING = 'server:one'
const folder = mkdtempSync(join(tmpdir(), 'weir-history-'))
let record: RunRecord

beforeEach(() => {
  record = new RunRecord(join(folder, 'requests.jsonl'))
})
afterAll(() => rmSync(folder, { recursive: true }))

function wrote(
  value: Value,
  [startMs, endMs]: readonly [number, number],
  status = 200,
  message = '',
) {
  record.add({
    n: record.entries.length,
    requestId: `request-${record.entries.length}`,
    user: 'user',
    gateway: 'gateway-1',
    method: 'PUT',
    path: '/',
    status,
    message,
    startMs,
    endMs,
    writes: [{ thing: THING, field: 'name', value }],
  })
}

function mayRead(value: Value, [fromMs, untilMs]: readonly [number, number]): boolean {
  return !isImpossible(possible(record, { thing: THING, field: 'name', fromMs, untilMs }), value)
}

test('a read finds earlier writes and no later ones', () => {
  wrote('old', [0, 10])
  wrote('new', [50, 60])

  expect(mayRead('old', [20, 30])).toBe(true)
  expect(mayRead('new', [20, 30])).toBe(false)
  expect(mayRead('old', [70, 80])).toBe(false)
})

test('a reading during a write finds either', () => {
  wrote('old', [0, 10])
  wrote('new', [20, 40])

  expect(mayRead('old', [25, 30])).toBe(true)
  expect(mayRead('new', [25, 30])).toBe(true)
})

test('a read may find the writes of a request that is still in progress', () => {
  wrote('old', [0, 10])
  expect(mayRead('new', [20, 30])).toBe(false)

  using _pending = record.begin([{ thing: THING, field: 'name', value: 'new' }])
  expect(mayRead('new', [20, 30])).toBe(true)
})

test('an unanswered request may take effect at any time later, one that was not received never', () => {
  wrote('old', [0, 10])
  wrote('lost', [20, 30], 0, 'ECONNRESET')
  wrote('unsent', [40, 50], 0, 'ECONNREFUSED')
  wrote('new', [60, 70])

  expect(finalState(record, THING, 'name').values).toEqual(new Set(['new', 'lost']))
})

test('an object must exist, or be deleted, only where that is certain', () => {
  const state = (values: readonly Value[], mayBeUnwritten = false) =>
    existence({ values: new Set(values), mayBeUnwritten })

  expect(state([true])).toBe('there')
  expect(state([false])).toBe('gone')
  expect(state([true, false])).toBe('either')
  expect(state([true], true)).toBe('either')
})
