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
