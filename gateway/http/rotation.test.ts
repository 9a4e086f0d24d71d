import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import { Rotation } from './rotation.ts'

const REACHES = { missing: undefined }

/** A clock of which a test moves the hands, and that wakes who sleeps. */
function steppedClock() {
  const clock = {
    at: 0,
    slept: 0,
    now: () => clock.at,
    elapsed: () => clock.at,
    sleep: async (ms: number) => {
      clock.at += ms
      clock.slept += ms
    },
  }
  return clock
}

test('a gateway that misses something says what', () => {
  const rotation = new Rotation({ missing: 'bus' }, systemClock)
  expect(rotation.look()).toBe('the bus is not reached')
})

test('a gateway that stops tells the proxies that look, and gives them the time for that', async () => {
  const clock = steppedClock()
  const rotation = new Rotation(REACHES, clock)
  expect(rotation.look()).toBeUndefined()

  await rotation.leave()

  expect(rotation.look()).toBe('the gateway stops')
  expect(clock.slept).toBe(1_000)
})

test.each([
  ['none ever looked', false],
  ['none has looked for long', true],
])('a gateway stops at once where %s', async (_, hasLooked) => {
  const clock = steppedClock()
  const rotation = new Rotation(REACHES, clock)
  if (hasLooked) rotation.look()
  clock.at = 6_000

  await rotation.leave()
  await rotation.finish()

  expect(clock.slept).toBe(0)
  expect(rotation.look()).toBeUndefined()
})

test('requests in progress are finished before the gateway takes no more connections', async () => {
  const { promise, resolve } = Promise.withResolvers<ServerResponse>()
  const server = createServer((_, response) => resolve(response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const rotation = new Rotation(REACHES, systemClock)
  rotation.watch(server)
  rotation.look()
  const answer = fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const response = await promise
  await rotation.leave()

  setTimeout(() => response.end('done'), 50)
  await rotation.finish()

  expect(response.writableEnded).toBe(true)
  expect(await (await answer).text()).toBe('done')
  server.close()
})

test('a request that does not end keeps a gateway for two seconds', async () => {
  const server = createServer()
  const clock = steppedClock()
  const rotation = new Rotation(REACHES, clock)
  rotation.watch(server)
  server.emit('request', {}, { once: () => undefined })
  rotation.look()

  await rotation.leave()
  await rotation.finish()

  expect(clock.slept).toBe(3_000)
})
