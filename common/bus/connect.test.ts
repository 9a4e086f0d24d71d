import { afterEach, expect, test, vi } from 'vitest'
import { freshBus } from '#test/env/fresh-bus.ts'
import { Relay } from '#test/env/relay.ts'
import { type CellId, newId } from '../ids.ts'
import { createLogger } from '../log.ts'
import { waitFor } from '../wait-for.ts'
import { connectBus } from './connect.ts'

const HOUR_MS = 3_600_000
const LIMIT_MS = 30_000

afterEach(() => {
  vi.restoreAllMocks()
})

test('a lost bus is found again soon, also after the clock was set back', async () => {
  const cellId = newId<CellId>()
  await using bus = await freshBus([cellId])
  await using relay = await Relay.open(bus.url)
  let times = 0
  const nats = await connectBus(
    {
      url: relay.url,
      credentialsFile: await bus.cellCredentialsFile(cellId),
      name: 'test',
      onReconnect: () => (times += 1),
    },
    createLogger('test', 'silent'),
  )
  const loseUntilFoundAgain = async () => {
    const before = times
    relay.set('refuse')
    relay.set('pass')
    await waitFor('the bus to be back', () => times > before, LIMIT_MS)
  }
  const now = Date.now.bind(Date)
  const wrongClock = vi.spyOn(Date, 'now').mockImplementation(() => now() + HOUR_MS)
  await loseUntilFoundAgain()
  wrongClock.mockRestore()

  await loseUntilFoundAgain()

  expect(times).toBe(2)
  await nats.close()
})

test('a server that hangs is left for another one', async () => {
  const cellId = newId<CellId>()
  await using bus = await freshBus([cellId])
  await using one = await Relay.open(bus.url)
  await using other = await Relay.open(bus.url)
  let times = 0
  const nats = await connectBus(
    {
      url: `${one.url},${other.url}`,
      credentialsFile: await bus.cellCredentialsFile(cellId),
      name: 'test',
      onReconnect: () => (times += 1),
    },
    createLogger('test', 'silent'),
  )
  const used = () => nats.getServer()
  const [hanging, left] = one.url.endsWith(used()) ? [one, other] : [other, one]

  hanging.set('hold')
  await expect.poll(() => times).toBe(1)

  expect(left.url.endsWith(used())).toBe(true)
  await nats.close()
})

test('a program that starts passes over a server that hangs', async () => {
  const cellId = newId<CellId>()
  await using bus = await freshBus([cellId])
  await using hanging = await Relay.open(bus.url)
  hanging.set('hold')

  for (let nth = 0; nth < 4; nth += 1) {
    const nats = await connectBus(
      {
        url: `${hanging.url},${bus.url}`,
        credentialsFile: await bus.cellCredentialsFile(cellId),
        name: 'test',
      },
      createLogger('test', 'silent'),
    )
    expect(bus.url.endsWith(nats.getServer())).toBe(true)
    await nats.close()
  }
})
