import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { Secrets, secretsOf } from './secrets.ts'

const key = randomBytes(32)

test('a sealed secret opens for its purpose, and cannot be read in the sealed text', () => {
  const secrets = new Secrets([key])

  const sealed = secrets.seal('hunter22', 'password of a')

  expect(sealed).not.toContain('hunter22')
  expect(secrets.open(sealed, 'password of a')).toBe('hunter22')
  expect(secrets.seal('hunter22', 'password of a')).not.toBe(sealed)
})

test('a sealed secret opens neither for another purpose, nor changed, nor with another key', () => {
  const secrets = new Secrets([key])
  const sealed = secrets.seal('hunter22', 'password of a')

  expect(() => secrets.open(sealed, 'password of b')).toThrow()
  const [version, id, body = ''] = sealed.split('.')
  const changed = `${version}.${id}.${body[0] === 'A' ? 'B' : 'A'}${body.slice(1)}`
  expect(() => secrets.open(changed, 'password of a')).toThrow()
  expect(() => new Secrets([randomBytes(32)]).open(sealed, 'password of a')).toThrow()
})

test('after a change of keys old secrets can still be opened, and new ones are sealed with the new key', () => {
  const sealed = new Secrets([key]).seal('old', 'x')
  const next = randomBytes(32)
  const secrets = new Secrets([next, key])

  expect(secrets.open(sealed, 'x')).toBe('old')
  expect(new Secrets([next]).open(secrets.seal('new', 'x'), 'x')).toBe('new')
})

test('gateways of one deployment can open secrets that any of them sealed', () => {
  const deploymentKey = 'ab'.repeat(32)
  const sealed = secretsOf(deploymentKey).seal('shared', 'x')
  expect(secretsOf(deploymentKey).open(sealed, 'x')).toBe('shared')
})

test('a sealed secret cut short opens not: a shorter tag would be easier to guess', () => {
  const secrets = new Secrets([key])
  const [version, id, body = ''] = secrets.seal('', 'x').split('.')
  const bytes = Buffer.from(body, 'base64url')

  for (const length of [12 + 4, 12 + 12, 12 + 15]) {
    const cut = `${version}.${id}.${bytes.subarray(0, length).toString('base64url')}`
    expect(() => secrets.open(cut, 'x')).toThrow()
  }
})
