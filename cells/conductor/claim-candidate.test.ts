import { expect, test } from 'vitest'
import type { Inventory } from '#openapi/wire/host.ts'
import { sampleHost } from '#test/env/sample-host.ts'
import { isTooLarge } from './claim-candidate.ts'

const host = (change: Partial<Inventory> = {}) => ({
  inventory: { ...sampleHost('a').inventory!, vcpus: 4, memoryMb: 64, diskGb: 10, ...change },
})
const size = { vcpus: 4, memoryMb: 64, diskGb: 10 }

test('a server may be as large as its host, and no larger in anything', () => {
  expect(isTooLarge(host(), size)).toBe(false)
  expect(isTooLarge(host({ reserved: { ...size, vcpus: 3 } }), size)).toBe(false)
  for (const more of [{ vcpus: 5 }, { memoryMb: 65 }, { diskGb: 11 }])
    expect(isTooLarge(host(), { ...size, ...more })).toBe(true)
  expect(isTooLarge({ inventory: null }, size)).toBe(false)
})

test('a server gets one machine, and of other classes as many as there are', () => {
  const machine = { resourceClass: 'CUSTOM_GOLD', total: 3, ...size }
  const nothing = { vcpus: 0, memoryMb: 0, diskGb: 0 }
  const gold = (amount: number) => ({ ...nothing, custom: { CUSTOM_GOLD: amount } })

  expect(isTooLarge(host({ machines: [machine] }), gold(1))).toBe(false)
  expect(isTooLarge(host({ machines: [machine] }), gold(2))).toBe(true)
  expect(isTooLarge(host(), gold(2))).toBe(false)
})
