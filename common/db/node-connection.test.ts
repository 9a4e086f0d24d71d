import { expect, test } from 'vitest'
import { Relay } from '#test/env/relay.ts'
import { testServices } from '#test/env/services.ts'
import { NodeConnection } from './node-connection.ts'

const TIMEOUT_MS = 300
const SQL = 'select 1 as one'

async function relayed() {
  const { databaseRootUrl } = await testServices()
  const relay = await Relay.open(databaseRootUrl)
  let lost = 0
  const node = new NodeConnection(relay.url, TIMEOUT_MS, () => {
    lost += 1
  })
  const ask = (options: { readonly timeout?: number } = {}) =>
    node.ask((connection) => connection.query({ sql: SQL, ...options }))
  const close = async () => {
    node.end()
    await relay[Symbol.asyncDispose]()
  }
  return { relay, ask, lost: () => lost, node, [Symbol.asyncDispose]: close }
}

test('what waits for its turn on a connection that is given up fails, and the next question opens another', async () => {
  await using world = await relayed()
  const { relay, ask, lost } = world
  await ask()
  relay.set('hold')

  const questions = [ask({ timeout: TIMEOUT_MS }), ask(), ask()]
  const ends = await Promise.allSettled(questions)

  expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  expect(lost()).toBe(1)
  relay.set('pass')
  await expect(ask()).resolves.toMatchObject([[{ one: 1 }], {}])
})

test('many questions open one connection', async () => {
  await using world = await relayed()
  await Promise.all([world.ask(), world.ask(), world.ask()])
  expect(world.relay.connections).toBe(1)
})

test('a server that cannot be reached fails the question within the limit', async () => {
  await using world = await relayed()
  world.relay.set('hold')
  await expect(world.ask()).rejects.toThrow('ETIMEDOUT')
  expect(world.lost()).toBe(1)
})

test('a connection that breaks while no one asks is lost once', async () => {
  await using world = await relayed()
  await world.ask()
  world.relay.set('refuse')
  await expect.poll(world.lost).toBe(1)
  world.node.end()
  expect(world.lost()).toBe(1)
})
