import type { Msg, NatsConnection } from '@nats-io/transport-node'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type FreshBus, freshBus } from '#test/env/fresh-bus.ts'
import { Relay } from '#test/env/relay.ts'
import { workContext } from '../context.ts'
import { type CellId, newId } from '../ids.ts'
import { createLogger } from '../log.ts'
import { ask } from './ask.ts'
import { connectBus } from './connect.ts'

const cellId = newId<CellId>()
const log = createLogger('test', 'silent')
let bus: FreshBus
let relay: Relay
let asking: NatsConnection
let answering: NatsConnection

beforeAll(async () => {
  bus = await freshBus([cellId])
  relay = await Relay.open(bus.url)
  const credentialsFile = await bus.cellCredentialsFile(cellId)
  asking = await connectBus({ url: relay.url, credentialsFile, name: 'asking' }, log)
  answering = await connectBus({ url: bus.url, credentialsFile, name: 'answering' }, log)
})

afterAll(async () => {
  await asking?.close()
  await answering?.close()
  await relay?.[Symbol.asyncDispose]()
  await bus?.[Symbol.asyncDispose]()
})

const question = (subject: string) => ({
  subject,
  payload: 'what',
  work: workContext({}),
  timeoutMs: 30_000,
  whom: 'The test',
})

/** Serves a subject: `answer` is given each message with its number, from 1. */
async function serving(subject: string, answer: (message: Msg, nth: number) => void) {
  let asked = 0
  answering.subscribe(subject, {
    callback: (_error, message) => {
      asked += 1
      answer(message, asked)
    },
  })
  await answering.flush()
  return () => asked
}

const respond = (message: Msg, value: unknown) =>
  message.respond(JSON.stringify({ ok: true, value }))

test('a question that was lost is asked again where `again` says, and the first answer counts', async () => {
  await serving('test.first', () => {})
  await serving('test.next', (message, nth) => respond(message, `answer ${nth}`))
  const again = () => ({ subject: 'test.next' })

  expect(await ask(asking, { ...question('test.first'), again })).toBe('answer 1')
})

test('a question is asked again as soon as a lost connection is back', async () => {
  const held: Msg[] = []
  const asked = await serving('test.lost', (message, nth) => {
    if (nth === 1) held.push(message)
    else respond(message, 'known')
  })
  const again = () => ({ subject: 'test.lost' })
  const answer = ask(asking, { ...question('test.lost'), again })
  await expect.poll(asked).toBe(1)

  relay.set('refuse')
  relay.set('pass')

  expect(await answer).toBe('known')
})

test('a question without `again` is asked once', async () => {
  const asked = await serving('test.once', () => {})

  await expect(ask(asking, { ...question('test.once'), timeoutMs: 2_500 })).rejects.toMatchObject({
    kind: 'unavailable',
    detail: 'no answer in time',
  })
  expect(asked()).toBe(1)
})
