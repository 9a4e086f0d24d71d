import { expect, test } from 'vitest'
import { Failure } from './errors.ts'
import type { Logger } from './log.ts'
import { forEachRow } from './reconciler.ts'

const logged: unknown[] = []
const log = { error: (fields: unknown) => logged.push(fields) } as unknown as Logger

test('a row at which the work fails keeps no other from its turn', async () => {
  const done: number[] = []
  const { signal } = new AbortController()

  await forEachRow([1, 2, 3], { log, signal }, async (row) => {
    if (row === 2) throw new Error('broken')
    done.push(row)
  })

  expect(done).toEqual([1, 3])
  expect(logged).toEqual([expect.objectContaining({ row: 2, error: 'broken' })])
})

test('nothing more is tried where the database is away, or the process stops', async () => {
  const stop = new AbortController()
  const { signal } = stop
  const away = () => Promise.reject(new Failure('unavailable', 'away'))
  await expect(forEachRow([1, 2], { log, signal }, away)).rejects.toThrow('away')

  stop.abort(new Error('stops'))
  await expect(forEachRow([1], { log, signal }, async () => undefined)).rejects.toThrow('stops')
})
