import { expect, test } from 'vitest'
import { Failure } from '#common/errors.ts'
import { tokenId } from '../app/identity/identity.ts'
import type { KeystoneToken } from './keystone-token.ts'
import { KeystoneVerifier } from './keystone-verifier.ts'

const CACHE_MS = 60_000
const domain = { id: 'default', name: 'Default' }

function scene() {
  let now = Date.parse('2026-11-21T12:00:00Z')
  const asked: string[] = []
  const valid = new Map<string, string>([['good', '2026-11-21T12:00:30Z']])
  let isDown = false
  const tokenOf = async (token: string): Promise<KeystoneToken | undefined> => {
    asked.push(token)
    if (isDown) throw new Failure('unavailable', 'down')
    const expires = valid.get(token)
    return expires === undefined
      ? undefined
      : { expires_at: expires, user: { id: 'u', name: 'ann', domain } }
  }
  const startedAt = now
  const clock = { now: () => now, elapsed: () => now - startedAt, sleep: () => Promise.resolve() }
  return {
    verifier: new KeystoneVerifier({ tokenOf }, clock, CACHE_MS),
    asked,
    valid,
    pass: (ms: number) => void (now += ms),
    setDown: (down: boolean) => void (isDown = down),
  }
}

test('a token is asked about once, however many come with it at a time, until it ends', async () => {
  const { verifier, asked, pass } = scene()
  const callers = await Promise.all(Array.from({ length: 20 }, () => verifier.callerOf('good')))
  expect(new Set(callers.map((caller) => caller?.userName))).toEqual(new Set(['ann']))
  expect(asked).toEqual(['good'])
  pass(29_000)
  await verifier.callerOf('good')
  expect(asked).toHaveLength(1)
  pass(2_000)
  expect(await verifier.callerOf('good')).toBeUndefined()
})

test('a token revoked meanwhile is good no longer than it is kept', async () => {
  const { verifier, valid, pass } = scene()
  valid.set('good', '2026-11-22T00:00:00Z')
  expect(await verifier.callerOf('good')).toBeDefined()
  valid.clear()
  pass(CACHE_MS - 1)
  expect(await verifier.callerOf('good')).toBeDefined()
  pass(1)
  expect(await verifier.callerOf('good')).toBeUndefined()
})

test('a token that is not valid is remembered shortly, and a failure is not', async () => {
  const { verifier, asked, valid, pass, setDown } = scene()
  setDown(true)
  await expect(verifier.callerOf('late')).rejects.toThrow('down')
  setDown(false)
  expect(await verifier.callerOf('late')).toBeUndefined()
  expect(await verifier.callerOf('late')).toBeUndefined()
  expect(asked).toHaveLength(2)
  valid.set('late', '2026-11-22T00:00:00Z')
  pass(5_001)
  expect(await verifier.callerOf('late')).toBeDefined()
})

test('the last answer about a token is known by its id, while it is recent', async () => {
  const { verifier, valid, pass } = scene()
  valid.set('good', '2026-11-22T00:00:00Z')
  const id = tokenId('good')
  expect(await verifier.callerOfId(id)).toBe('unknown')
  await verifier.callerOf('good')
  expect(await verifier.callerOfId(id)).toMatchObject({ userName: 'ann' })
  await verifier.callerOf('bad')
  expect(await verifier.callerOfId(tokenId('bad'))).toBeUndefined()
  pass(CACHE_MS)
  expect(await verifier.callerOfId(id)).toBe('unknown')
})
