import { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import { Admission } from './admission.ts'
import { TooManyRequests } from './request-limiter.ts'

/** Time stands still. */
const patient = { ...systemClock, sleep: () => new Promise<never>(() => undefined) }
const LIMITS = { list: 1, boot: 4, read: 4, other: 4 }

test('a project that fills its queue is refused, and another one has the next turn', async () => {
  const admission = new Admission(LIMITS, patient)
  const first = await admission.take('list', 'greedy')
  const order: string[] = []
  const wait = async (project: string) => {
    const place = await admission.take('list', project)
    order.push(project)
    return place
  }
  const greedy = Array.from({ length: 16 }, () => wait('greedy'))
  await expect(admission.take('list', 'greedy')).rejects.toThrow(TooManyRequests)
  expect(() => admission.refuseIfFull('list', 'greedy')).toThrow('as many long lists as it can')
  const turnedAway = expect(greedy[15]).rejects.toThrow(TooManyRequests)
  const other = wait('other')
  await turnedAway

  first[Symbol.dispose]()
  const second = await greedy[0]!
  second[Symbol.dispose]()
  const place = await other

  expect(order).toEqual(['greedy', 'other'])
  place[Symbol.dispose]()
})

test('a project leaves a quarter of each kind of work to others', async () => {
  const admission = new Admission(LIMITS, patient)
  const places = [1, 2, 3].map(() => admission.take('boot', 'greedy'))
  await Promise.all(places)
  const fourth = admission.take('boot', 'greedy')

  expect(admission.count('boot')).toEqual({ running: 3, waiting: 1, refused: 0 })
  await expect(admission.take('boot', 'other')).resolves.toBeDefined()
  await expect(admission.take('read', 'greedy')).resolves.toBeDefined()
  ;(await places[0]!)[Symbol.dispose]()
  await expect(fourth).resolves.toBeDefined()
})

test('a request whose client hangs up while it waits is not handled', async () => {
  const admission = new Admission(LIMITS, patient)
  const running = await admission.take('list', 'blue')
  const connection = new EventEmitter()
  const waiting = admission.take('list', 'blue', connection)

  connection.emit('close')

  await expect(waiting).rejects.toThrow('hung up')
  running[Symbol.dispose]()
  expect(admission.count('list')).toEqual({ running: 0, waiting: 0, refused: 0 })
  expect(connection.listenerCount('close')).toBe(0)
})

test('a request that waits too long is refused, and says when to try again', async () => {
  const admission = new Admission(LIMITS, { ...systemClock, sleep: async () => undefined })
  await admission.take('list', 'blue')

  const refused = await admission.take('list', 'blue').catch((error: unknown) => error)

  expect(refused).toMatchObject({ retryAfterS: 1, kind: 'unavailable' })
  expect(admission.count('list')).toEqual({ running: 1, waiting: 0, refused: 1 })
})
