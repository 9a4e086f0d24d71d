import { expect, test } from 'vitest'
import { offeredInventory, reservedOf } from './reserved.ts'

const inventory = { name: 'host', reserved: { vcpus: 1, memoryMb: 512, diskGb: 10 } }

test('a host keeps what administrators decided, and of other amounts what it reports', () => {
  const settings = { reserved: { vcpus: 0, memoryMb: 256 } }

  expect(reservedOf({ inventory, settings })).toEqual({ vcpus: 0, memoryMb: 256, diskGb: 10 })
  expect(offeredInventory({ inventory, settings })).toEqual({
    name: 'host',
    reserved: { vcpus: 0, memoryMb: 256, diskGb: 10 },
  })
})

test('a host about which nothing was decided keeps what it reports, or nothing', () => {
  expect(offeredInventory({ inventory, settings: {} })).toBe(inventory)
  expect(offeredInventory({ inventory, settings: null })).toBe(inventory)
  expect(reservedOf({ inventory })).toEqual(inventory.reserved)
  expect(reservedOf({ inventory: null })).toEqual({ vcpus: 0, memoryMb: 0, diskGb: 0 })
})
