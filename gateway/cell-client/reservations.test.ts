import { expect, test } from 'vitest'
import { type CountedClaims, Reservations } from './reservations.ts'

// Goal: a server counts once, in what is reserved or in the summary of its cell, whatever comes first.

const ONE = { vcpus: 1, memoryMb: 512, diskGb: 1 }
const NOTHING = { vcpus: 0, memoryMb: 0, diskGb: 0 }
const SILENT: CountedClaims = {}

function reserved() {
  let now = 0
  const reservations = new Reservations({ elapsed: () => now })
  const pass = (ms: number) => {
    now += ms
  }
  return { reservations, pass }
}

const said = (processId: string, made: number, unread: number[] = []): CountedClaims => ({
  processId,
  claims: { made, unread },
})

test('a server that its cell has not answered for is in no summary, however many come', () => {
  const { reservations } = reserved()
  const one = reservations.add(ONE)
  reservations.add(ONE).answered()
  expect(reservations).toMatchObject({ servers: 2, resources: { memoryMb: 1_024 } })

  reservations.summarized(SILENT)
  reservations.summarized(said('p', 7))
  expect(reservations).toMatchObject({ servers: 1, resources: ONE })

  one.answered()
  expect(reservations.servers).toBe(1)
  reservations.summarized(SILENT)
  expect(reservations).toMatchObject({ servers: 0, resources: NOTHING })
})

test('a claim counts until the first summary that has it', () => {
  const { reservations } = reserved()
  const [second, third] = [reservations.add(ONE), reservations.add(ONE)]
  third.answered({ processId: 'p', nth: 3 })
  reservations.summarized(said('p', 2))
  expect(reservations.servers).toBe(2)

  reservations.summarized(said('p', 3, [3]))
  expect(reservations.servers).toBe(2)
  reservations.summarized(said('p', 3))
  expect(reservations.servers).toBe(1)

  second.answered({ processId: 'p', nth: 2 })
  expect(reservations).toMatchObject({ servers: 0, resources: NOTHING })
})

test('a claim is missing from the summaries of another process until that has read it', () => {
  const { reservations, pass } = reserved()
  reservations.add(ONE).answered({ processId: 'p', nth: 1 })
  reservations.summarized(said('p', 1))
  expect(reservations.servers).toBe(0)

  reservations.summarized(said('q', 9))
  expect(reservations.servers).toBe(1)
  pass(2_000)
  reservations.summarized(said('q', 9))
  expect(reservations.servers).toBe(0)
})

test('a server that does not go to the cell counts no more, whether it was asked or not', () => {
  const { reservations } = reserved()
  reservations.add(ONE).cancel()
  const answered = reservations.add(ONE)
  answered.answered({ processId: 'p', nth: 1 })
  answered.cancel()
  answered.cancel()
  expect(reservations).toMatchObject({ servers: 0, resources: NOTHING })
})
