import type { NatsConnection } from '@nats-io/transport-node'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type FreshBus, freshBus } from '#test/env/fresh-bus.ts'
import { workContext } from '../context.ts'
import { type CellId, newId } from '../ids.ts'
import { createLogger } from '../log.ts'
import { ask } from './ask.ts'
import { connectBus } from './connect.ts'
import { serve } from './serve.ts'

const cellId = newId<CellId>()
const log = createLogger('test', 'silent')
let bus: FreshBus
let nats: NatsConnection

beforeAll(async () => {
  bus = await freshBus([cellId])
  const credentialsFile = await bus.cellCredentialsFile(cellId)
  nats = await connectBus({ url: bus.url, credentialsFile, name: 'test' }, log)
})
afterAll(async () => {
  await nats.close()
  await bus?.[Symbol.asyncDispose]()
})

const question = (payload: unknown) => ({
  subject: 'test.long',
  payload,
  work: workContext({}),
  timeoutMs: 2_000,
  whom: 'The test',
})

test('an answer too large for the bus becomes a failure, and the server serves on', async () => {
  const long = 'x'.repeat((nats.info?.max_payload ?? 0) + 1)
  await using _served = serve(
    nats,
    {
      subject: 'test.long',
      parse: (payload) => payload,
      handle: (payload) => Promise.resolve(payload === 'long' ? long : payload),
    },
    log,
  )

  await expect(ask(nats, question('long'))).rejects.toMatchObject({ kind: 'internal' })
  expect(await ask(nats, question('short'))).toBe('short')
})

test('a clock that is set, forward or back, loses no question', async () => {
  await using _served = serve(
    nats,
    {
      subject: 'test.long',
      parse: (payload) => payload,
      handle: (payload) => Promise.resolve(payload),
    },
    log,
  )
  const wall = Date.now()
  const clock = vi.spyOn(Date, 'now')

  for (const setBy of [3_600_000, 0, -6_000, 3_600_000, 0]) {
    clock.mockReturnValue(wall + setBy)
    expect(await ask(nats, question(setBy))).toBe(setBy)
  }
  clock.mockRestore()
})

test('a question too large for the bus is refused, and is not taken for silence', async () => {
  const long = 'x'.repeat((nats.info?.max_payload ?? 0) + 1)

  await expect(ask(nats, question(long))).rejects.toMatchObject({ kind: 'internal' })
})

test('a request to a server that ends is answered, by it or by another of its queue', async () => {
  const subject = 'test.ending'
  const credentialsFile = await bus.cellCredentialsFile(cellId)
  const other = await connectBus({ url: bus.url, credentialsFile, name: 'other' }, log)
  const service = {
    subject,
    queue: 'test',
    parse: (payload: unknown) => payload,
    handle: (payload: unknown) => Promise.resolve(payload),
  }
  await using _staying = serve(nats, service, log)

  for (let round = 0; round < 20; round += 1) {
    const ending = serve(other, service, log)
    await other.flush()
    const asked = Array.from({ length: 20 }, (_, nth) => ask(nats, { ...question(nth), subject }))
    await nats.flush()
    await ending[Symbol.asyncDispose]()

    expect(await Promise.all(asked)).toEqual(Array.from({ length: 20 }, (_, nth) => nth))
  }
  await other.close()
})
