import { expect, test } from 'vitest'
import { DUMMY_HASH, hashPassword, verifyPassword } from './password-hash.ts'

const ASKER = { peer: 'here', account: 'a' }

test('a hash fits its password only, and is salted', async () => {
  const [one, two] = await Promise.all([hashPassword('pässword'), hashPassword('pässword')])

  expect(one).not.toBe(two)
  expect(one).toMatch(/^\$scrypt\$16384\$8\$1\$/)
  expect(await verifyPassword('pässword', one, ASKER)).toBe(true)
  expect(await verifyPassword('password', one, ASKER)).toBe(false)
})

test('the same characters match however they were typed', async () => {
  const hash = await hashPassword('é'.normalize('NFC'))

  expect(await verifyPassword('é'.normalize('NFD'), hash, ASKER)).toBe(true)
})

test('the hash of no user fits no password', async () => {
  expect(await verifyPassword('', DUMMY_HASH, ASKER)).toBe(false)
})

test('a login is refused while too many wait', async () => {
  const many = await Promise.allSettled(
    Array.from({ length: 110 }, () => verifyPassword('x', DUMMY_HASH, ASKER)),
  )

  const refused = many.filter(({ status }) => status === 'rejected')
  expect(refused.length).toBeGreaterThan(0)
  expect(refused[0]).toMatchObject({ reason: { kind: 'unavailable' } })
})

test('one peer with ever new accounts keeps no other from logging in', async () => {
  const flood = Array.from({ length: 120 }, (_, n) =>
    verifyPassword('x', DUMMY_HASH, { peer: 'flood', account: `a${n}` }),
  )
  const settled = Promise.allSettled(flood)

  expect(await verifyPassword('x', DUMMY_HASH, { peer: 'other', account: 'alice' })).toBe(false)
  await settled
})
