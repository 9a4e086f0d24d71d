import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { boxKeysOf, openWith, sealFor } from './sealed-box.ts'

const secret = randomBytes(32)
const keys = boxKeysOf(secret)

test('the owner of the secret opens what was sealed for it, at every start, for the same purpose alone', () => {
  const sealed = sealFor(keys.publicKey, 'a key', 'volume 1')

  expect(sealed).not.toContain('a key')
  expect(openWith(boxKeysOf(secret), sealed, 'volume 1')).toBe('a key')
  expect(sealFor(keys.publicKey, 'a key', 'volume 1')).not.toBe(sealed)
  const other = boxKeysOf(randomBytes(32))
  for (const open of [
    () => openWith(keys, sealed, 'volume 2'),
    () => openWith(other, sealed, 'volume 1'),
    () => openWith(keys, `${sealed.slice(0, -2)}AA`, 'volume 1'),
    () => openWith(keys, 'x1.nothing', 'volume 1'),
    () => openWith(keys, sealed.replace('x1', 'x2'), 'volume 1'),
  ])
    expect(open).toThrow(expect.objectContaining({ kind: 'invalid' }))
})

test('what is no public key is refused', () => {
  for (const key of ['', 'abc', Buffer.from('hello').toString('base64url')])
    expect(() => sealFor(key, 'text', 'p')).toThrow(expect.objectContaining({ kind: 'invalid' }))
})
