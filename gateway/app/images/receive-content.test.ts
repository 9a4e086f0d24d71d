import { expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import { type Receipt, receiveContent } from './receive-content.ts'

const nowhere = {
  write: async () => {},
  flush: async () => {},
  keep: async () => {},
  [Symbol.asyncDispose]: async () => {},
}

/** A sender of so many bytes every ten seconds by its own clock. */
function sender(bytes: number, chunks: number): Pick<Receipt, 'body' | 'clock'> {
  let now = 0
  async function* body() {
    for (let sent = 0; sent < chunks; sent += 1) {
      now += 10_000
      yield Buffer.alloc(bytes)
    }
  }
  return { body: body(), clock: { ...systemClock, elapsed: () => now } }
}

const receipt = (from: Pick<Receipt, 'body' | 'clock'>, bytesPerSecondMin?: number): Receipt => ({
  ...from,
  declaredBytes: undefined,
  sizeMaxBytes: 1_000_000,
  format: undefined,
  renew: async () => {},
  ...(bytesPerSecondMin === undefined ? {} : { bytesPerSecondMin }),
})

test('a content below the minimum rate is refused; one at this rate is stored', async () => {
  const slow = receiveContent(nowhere, receipt(sender(999, 100), 100))
  await expect(slow).rejects.toMatchObject({ kind: 'invalid' })
  await expect(slow).rejects.toThrow('slower than the minimum of 100 bytes a second')

  const fast = await receiveContent(nowhere, receipt(sender(1_000, 100), 100))
  expect(fast.sizeBytes).toBe(100_000)
})

test('where nothing is the least, a sender may be slow', async () => {
  expect((await receiveContent(nowhere, receipt(sender(1, 20)))).sizeBytes).toBe(20)
})
