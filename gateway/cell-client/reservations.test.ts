import { expect, test } from 'vitest'
import { Reservations } from './reservations.ts'

const ONE = { vcpus: 1, memoryMb: 512, diskGb: 1 }
const NOTHING = { vcpus: 0, memoryMb: 0, diskGb: 0 }

test('what a cell has not answered yet is in no summary, however many come', async () => {
  const reservations = new Reservations()
  const answered = Promise.withResolvers<void>()
  reservations.add(ONE, answered.promise)
  reservations.add(ONE, Promise.reject(new Error('The cell was cut off.')))
  reservations.add(ONE)
  await Promise.resolve()
  expect(reservations).toMatchObject({ servers: 3, resources: { memoryMb: 1_536 } })

  reservations.summarized()
  expect(reservations).toMatchObject({ servers: 1, resources: ONE })
  reservations.summarized()
  expect(reservations).toMatchObject({ servers: 1, resources: ONE })

  answered.resolve()
  await answered.promise
  expect(reservations.servers).toBe(1)
  reservations.summarized()
  expect(reservations).toMatchObject({ servers: 0, resources: NOTHING })
})
