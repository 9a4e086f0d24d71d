import { createAccount, createOperator, createUser, fromPublic } from '@nats-io/nkeys'
import { expect, test } from 'vitest'
import { nativeKeyPair, newKeyPair } from './native-key-pair.ts'

test.each([
  ['an operator', createOperator],
  ['an account', createAccount],
  ['a user', createUser],
])('nativeKeyPair() of %s signs what nkeys signs', (_kind, create) => {
  const theirs = create()
  const ours = nativeKeyPair(new TextDecoder().decode(theirs.getSeed()))
  const bytes = Buffer.from('what a cell is let in with')

  expect(ours.getPublicKey()).toBe(theirs.getPublicKey())
  expect(Buffer.from(ours.getPrivateKey())).toEqual(Buffer.from(theirs.getPrivateKey()))
  expect(Buffer.from(ours.sign(bytes))).toEqual(Buffer.from(theirs.sign(bytes)))
})

test('newKeyPair() is another one each time, and its public key verifies', () => {
  const pair = newKeyPair(createAccount)
  const bytes = Buffer.from('x')

  expect(newKeyPair(createAccount).getPublicKey()).not.toBe(pair.getPublicKey())
  expect(fromPublic(pair.getPublicKey()).verify(bytes, pair.sign(bytes))).toBe(true)
})
