import { expect, test } from 'vitest'
import { generateSshKey, publicKeyFingerprint } from './ssh-key.ts'

const ED25519 =
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f me@here'

test('publicKeyFingerprint() writes the MD5 of the blob as hexadecimal pairs', () => {
  const fingerprint = publicKeyFingerprint('ssh', ED25519)
  expect(fingerprint).toMatch(/^([0-9a-f]{2}:){15}[0-9a-f]{2}$/)
  expect(publicKeyFingerprint('ssh', `${ED25519}\n`)).toBe(fingerprint)
})

test('publicKeyFingerprint() accepts keys of generateSshKey()', async () => {
  const { publicKey, privateKey } = await generateSshKey()
  expect(publicKeyFingerprint('ssh', publicKey)).toMatch(/^([0-9a-f]{2}:){15}[0-9a-f]{2}$/)
  expect(privateKey).toContain('BEGIN RSA PRIVATE KEY')
})

test.each([
  ['a type that the blob is not', ED25519.replace('ssh-ed25519 ', 'ssh-rsa ')],
  ['a blob that is cut', ED25519.replace('HR4f', '')],
  ['a second line', `${ED25519}\nssh-rsa AAAA x`],
  ['an option before the key', `command="x" ${ED25519}`],
  ['text that is no key', 'hello'],
])('publicKeyFingerprint() refuses %s', (_, text) => {
  expect(() => publicKeyFingerprint('ssh', text)).toThrow('failed to generate fingerprint')
})

test('publicKeyFingerprint() refuses text that is not a certificate', () => {
  expect(() => publicKeyFingerprint('x509', ED25519)).toThrow('failed to generate fingerprint')
})
