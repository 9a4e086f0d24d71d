import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { hourlyCost, readPrices } from './prices.ts'

const directory = mkdtempSync(join(tmpdir(), 'weir-prices-'))
const file = join(directory, 'prices.json')
const read = (content: unknown) => {
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
  return readPrices(file)
}

afterAll(() => rmSync(directory, { recursive: true }))

test('an hour costs what the cell says for each amount, or else the default', () => {
  const prices = read({
    currency: 'EUR',
    default: { server: 0.001, vcpu: 0.01, memory_gib: 0.005, disk_gb: 0.0001 },
    cells: { cheap: { vcpu: 0.002 }, free: {} },
  })
  const server = { vcpus: 2, memoryMb: 3072, diskGb: 40 }

  expect(hourlyCost(prices, 'north', server)).toBeCloseTo(0.001 + 0.02 + 0.015 + 0.004, 10)
  expect(hourlyCost(prices, null, server)).toBeCloseTo(0.04, 10)
  expect(hourlyCost(prices, 'cheap', server)).toBeCloseTo(0.004, 10)
  expect(hourlyCost(prices, 'free', server)).toBe(0)
  expect(hourlyCost(prices, 'constructor', server)).toBeCloseTo(0.04, 10)
})

test.each<[string, unknown, RegExp]>([
  ['is no JSON', '{', /prices\.json cannot be read/],
  ['has no currency', { default: {} }, /the file must have required properties currency/],
  [
    'has a negative price',
    { currency: 'EUR', default: { vcpu: -1 } },
    /\/default\/vcpu must be >= 0/,
  ],
  [
    'has a price of something else',
    { currency: 'EUR', cells: { a: { gpu: 1 } } },
    /\/cells\/a must not have gpu/,
  ],
])('a file that %s is refused with the place', (_what, content, reason) => {
  expect(() => read(content)).toThrow(reason)
})

test('a file that is missing is named', () => {
  expect(() => readPrices(join(directory, 'none.json'))).toThrow(
    /GATEWAY_PRICES_FILE: .*none\.json/,
  )
})
