import { afterAll, beforeAll, expect, test } from 'vitest'
import { Checkout } from '../env/checkout.ts'

// Goal: a control plane without cells is complete by itself, and is served at an address once it is given one.

const ADDRESS = '127.0.0.1'

let checkout: Checkout
let shown: string

beforeAll(async () => {
  checkout = new Checkout()
  shown = await checkout.succeed('up', '--cells', '0')
})

afterAll(() => checkout?.[Symbol.asyncDispose]())

test('up --cells 0 starts databases, bus and gateway, and nothing else', async () => {
  expect([...(await checkout.processes()).keys()]).toEqual(['mariadb', 'nats', 'gateway-1'])
  expect(shown).toContain('Cells        none')
  expect(await checkout.succeed('cell', 'list')).toBe('No cells.\n')
})

test('up again changes nothing', async () => {
  expect(await checkout.succeed('up')).toContain('up already; nothing was changed')
  expect(await checkout.succeed('up', '--cells', '0')).toContain('up already')
})

test('up --address serves an existing deployment at an address, and cells can join there', async () => {
  const again = await checkout.succeed('up', '--address', ADDRESS)

  expect(again).toMatch(/Elsewhere +https:\/\/127\.0\.0\.1:\d+/)
  expect(await checkout.succeed('cell', 'token', 'create', 'north')).toMatch(
    /WEIR_JOIN_TOKEN=weir1\.\S+\.\S+ \.\/weir cell join --gateway https:\/\/127\.0\.0\.1:\d+/,
  )
  expect(await checkout.succeed('up', '--address', ADDRESS)).toContain('up already')
})

test('another address is refused', async () => {
  const { code, stderr } = await checkout.weir('up', '--address', '127.0.0.2')

  expect([code, stderr]).toEqual([1, expect.stringContaining('--address 127.0.0.1, not 127.0.0.2')])
})
