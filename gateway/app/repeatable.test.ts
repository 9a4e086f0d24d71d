import { expect, test } from 'vitest'
import { isIdempotent, noteChange, noteKey, tracked } from './repeatable.ts'

// Goal: a request is done again at another gateway only where that does nothing twice.

test.each([
  ['GET', '/v2.1/servers', true],
  ['PUT', '/v2.1/servers/1/metadata', true],
  ['PUT', '/v2.0/routers/1', true],
  ['PUT', '/v2.0/routers/1/add_router_interface', false],
  ['PUT', '/v2.0/routers/1/remove_router_interface', false],
  ['PUT', '/v2.1/servers/1/os-volume_attachments/2', false],
  ['PUT', '/v2/images/1/file', false],
  ['PUT', '/v2/images/1/tags/file', true],
  ['PUT', '/placement/resource_providers/1/traits', false],
  ['PUT', '/placement/resource_providers/1/inventories', false],
  ['PUT', '/placement/resource_providers/1/inventories/VCPU', false],
  ['PUT', '/placement/traits/CUSTOM_A', true],
  ['POST', '/v2.0/networks', false],
  ['PATCH', '/v2/images/1', false],
  ['DELETE', '/v2.1/servers/1', false],
])('%s %s is idempotent: %s', (method, path, expected) => {
  expect(isIdempotent(method, path)).toBe(expected)
})

test.each([
  [true, [noteChange], true],
  [false, [], true],
  [false, [noteChange], false],
  [false, [noteKey, noteChange], true],
] as const)(
  'a request that is idempotent (%s) may be repeated after %j: %s',
  async (idempotent, steps, expected) => {
    const mayRepeat = await tracked(idempotent, async (may) => {
      for (const step of steps) await Promise.resolve().then(step)
      return may()
    })

    expect(mayRepeat).toBe(expected)
  },
)

test('what one request changes is none of another', async () => {
  const changing = tracked(false, async (mayRepeat) => {
    noteChange()
    await Promise.resolve()
    return mayRepeat()
  })
  const waiting = tracked(false, async (mayRepeat) => {
    await Promise.resolve()
    return mayRepeat()
  })

  expect(await Promise.all([changing, waiting])).toEqual([false, true])
})
