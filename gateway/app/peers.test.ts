import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { connectBus } from '#common/bus/connect.ts'
import { type Clock, systemClock } from '#common/clock.ts'
import { newId } from '#common/ids.ts'
import { createLogger } from '#common/log.ts'
import { aliveSubject, peersSubject } from '#openapi/wire.ts'
import { type FreshBus, freshBus } from '#test/env/fresh-bus.ts'
import { type AbsenceHandler, Peers } from './peers.ts'
import { Reach } from './reach.ts'

// Goal: a gateway that leaves the bus is noticed by the others at once, as often as it leaves, and no other is.

let bus: FreshBus

beforeAll(async () => {
  bus = await freshBus()
})
afterAll(() => bus?.[Symbol.asyncDispose]())

/** What a gateway logs of others, and what it does about them. */
class Watched {
  readonly told: string[] = []
  readonly log = {
    info: ({ gateway }: { gateway: string }, message: string) =>
      this.told.push(`${gateway}: ${message}`),
  } as never

  act(what: string, afterMs: number): AbsenceHandler {
    return {
      afterMs,
      act: async ({ processName }) => void this.told.push(`${processName}: ${what}`),
    }
  }

  has(...names: readonly string[]): Promise<void> {
    return expect.poll(() => this.told).toEqual(names)
  }
}

/** A gateway on a connection of its own. */
async function join(
  processName: string,
  watched = new Watched(),
  onAway: readonly AbsenceHandler[] = [],
  reach = new Reach(),
  clock: Clock = systemClock,
) {
  const credentialsFile = await bus.gatewayCredentialsFile()
  const log = createLogger(processName, 'warn')
  const nats = await connectBus({ url: bus.url, name: processName, credentialsFile }, log)
  const incarnation = newId<string>()
  const peers = new Peers({
    ...{
      nats,
      clock,
      log: watched.log,
      processName,
      incarnation,
      reach,
      onAway,
    },
  })
  return {
    peers,
    [Symbol.asyncDispose]: async () => {
      await nats.close()
      await peers[Symbol.asyncDispose]()
    },
  }
}

test('a gateway whose connection ends is away, each time it does, and no other is', async () => {
  const seen = new Watched()
  const onAway = [seen.act('look', 0), seen.act('look again', 100)]
  await using _watching = await join('watching', seen, onAway)
  await using _staying = await join('staying')
  const joined = ['staying: gateway joined the bus']
  await seen.has(...joined)

  const once = [
    'two words: gateway joined the bus',
    'two words: gateway left the bus',
    'two words: look',
    'two words: gateway left the bus',
    'two words: look again',
  ]
  for (const expected of [
    [...joined, ...once],
    [...joined, ...once, ...once],
  ]) {
    {
      await using _leaving = await join('two words')
      await seen.has(...expected.slice(0, -4))
    }
    await seen.has(...expected)
  }
})

test('a gateway that alone does not reach the database is away from its work, and not from the bus', async () => {
  const seen = new Watched()
  const missing = new Reach()
  missing.noted('database', true)
  for (let nth = 0; nth < 3; nth += 1) missing.noted('database', false)
  await using watching = await join('watching', seen, [seen.act('take over', 0)])
  await using cutOff = await join('cut off', new Watched(), [], missing)

  await seen.has(
    'cut off: gateway joined the bus',
    'cut off: gateway does not reach the database',
    'cut off: take over',
  )
  expect(watching.peers.known()).toEqual([{ name: 'cut off', leftMs: undefined }])
  await expect.poll(() => cutOff.peers.anyReachesDatabase()).toBe(true)
  expect(watching.peers.anyReachesDatabase()).toBe(false)
})

test('a gateway sleeps while it is alone, and asks another that comes at once', async () => {
  const slept: number[] = []
  const clock: Clock = {
    ...systemClock,
    sleep: (ms, signal) => {
      slept.push(ms)
      return systemClock.sleep(ms, signal)
    },
  }
  const seen = new Watched()
  await using _alone = await join('alone', seen, [], new Reach(), clock)

  await expect.poll(() => slept.length).toBeGreaterThan(1)
  expect(Math.min(...slept)).toBeGreaterThan(500)

  await using _other = await join('other')
  await seen.has('other: gateway joined the bus')
  await expect.poll(() => slept.at(-1)).toBeLessThan(100)
})

test('a gateway that does not answer is asked on, and is away once its connection ends', async () => {
  const steps: (() => void)[] = []
  const clock: Clock = {
    ...systemClock,
    sleep: (_ms, signal) =>
      new Promise((resolve) => {
        steps.push(resolve)
        signal?.addEventListener('abort', () => resolve())
      }),
  }
  const seen = new Watched()
  const credentialsFile = await bus.gatewayCredentialsFile()
  const log = createLogger('dying', 'warn')
  await using _stepping = await join(
    'stepping',
    seen,
    [seen.act('take over', 0)],
    new Reach(),
    clock,
  )
  const dying = await connectBus({ url: bus.url, name: 'dying', credentialsFile }, log)
  let questions = 0
  dying.subscribe(aliveSubject('incarnation'), { callback: () => void (questions += 1) })
  dying.publish(peersSubject(), 'incarnation dying')
  await seen.has('dying: gateway joined the bus')
  const step = () => {
    for (const resolve of steps.splice(0)) resolve()
  }

  await expect.poll(() => questions).toBe(1)
  for (const asked of [2, 3]) {
    step()
    await expect.poll(() => questions).toBe(asked)
  }
  await dying.close()
  await vi.waitFor(() => {
    step()
    expect(seen.told).toContain('dying: take over')
  })
})

test('a gateway that loses the bus remembers the others until it is back, and then forgets those that do not answer', async () => {
  let laterMs = 0
  const clock: Clock = { ...systemClock, elapsed: () => systemClock.elapsed() + laterMs }
  const reach = new Reach()
  reach.noted('bus', true)
  const seen = new Watched()
  await using remembering = await join('remembering', seen, [], reach, clock)
  const credentialsFile = await bus.gatewayCredentialsFile()
  const log = createLogger('silent', 'warn')
  const silent = await connectBus({ url: bus.url, name: 'silent', credentialsFile }, log)
  let questions = 0
  silent.subscribe(aliveSubject('incarnation'), { callback: () => void (questions += 1) })
  silent.publish(peersSubject(), 'incarnation silent')
  await seen.has('silent: gateway joined the bus')

  for (let nth = 0; nth < 3; nth += 1) reach.noted('bus', false)
  laterMs = 60_000
  const asked = questions
  // Each question waits a second for its answer, and twenty are asked meanwhile.
  await expect.poll(() => questions).toBeGreaterThan(asked + 40)
  expect(remembering.peers.areNone).toBe(false)

  reach.noted('bus', true)
  await expect.poll(() => remembering.peers.areNone).toBe(true)
  await silent.close()
})
