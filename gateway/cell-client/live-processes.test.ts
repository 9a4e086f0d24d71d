import { expect, test } from 'vitest'
import { type CellId, newId } from '#common/ids.ts'
import { LiveProcesses } from './live-processes.ts'

const cell = newId<CellId>()

function scene() {
  let now = 0
  const clock = { now: () => now, elapsed: () => now, sleep: () => Promise.resolve() }
  const processes = new LiveProcesses(clock)
  const asked = (times: number) => Array.from({ length: times }, () => processes.next(cell))
  return { processes, asked, pass: (ms: number) => void (now += ms) }
}

test('processes that report get requests in turn', () => {
  const { processes, asked } = scene()
  expect(asked(1)).toEqual([undefined])
  for (const id of ['a', 'b']) processes.recordHeartbeat(cell, id)

  expect(asked(4)).toEqual(['a', 'b', 'a', 'b'])
  processes.recordHeartbeat(cell, 'a')
  expect(asked(2)).toEqual(['a', 'b'])
  expect(processes.next(newId<CellId>())).toBeUndefined()
})

test('a process without reports gets no requests until it reports again', () => {
  const { processes, asked, pass } = scene()
  for (const id of ['a', 'b']) processes.recordHeartbeat(cell, id)
  pass(2_000)
  processes.recordHeartbeat(cell, 'b')
  pass(1_000)

  expect(asked(3)).toEqual(['b', 'b', 'b'])
  processes.recordHeartbeat(cell, 'a')
  expect(new Set(asked(2))).toEqual(new Set(['a', 'b']))
  pass(3_000)
  expect(asked(1)).toEqual([undefined])
})

test('a cell that names ever new processes is remembered with a bounded number of them', () => {
  const { processes, asked } = scene()
  for (let n = 0; n < 1_000; n += 1) processes.recordHeartbeat(cell, `process ${n}`)

  expect(new Set(asked(1_000)).size).toBe(64)
  expect(asked(1_000)).toContain('process 999')
})
