import { expect, test } from 'vitest'
import { EnvReader } from './env.ts'

test('finish() names every problem at once, a typo among our variables included', () => {
  const read = new EnvReader({ X_PORT: 'many', X_MODE: 'odd', X_TYPO: '1', OTHER: '1' }, 'X_')

  read.text('NAME')
  read.integer('PORT', 1)
  read.choice('MODE', ['a', 'b'])

  expect(() => read.finish()).toThrow(
    [
      'Configuration:',
      '  X_NAME is not set',
      '  X_PORT: many is not an integer from 0 to 9007199254740991',
      '  X_MODE: odd is none of a, b',
      '  X_TYPO is not a known setting',
    ].join('\n'),
  )
})

test('urls() takes one address or several, and names each that is none', () => {
  const schemes = ['nats', 'wss']
  const given = {
    X_ONE: 'nats://127.0.0.1:4222',
    X_SOME: 'nats://10.0.0.1:4222, nats://[fd00::1]',
    X_OUTER: 'wss://a.example/bus,wss://b.example:8443/bus',
  }
  const good = new EnvReader(given, 'X_')

  expect(good.urls('ONE', schemes)).toBe('nats://127.0.0.1:4222')
  expect(good.urls('SOME', schemes)).toBe('nats://10.0.0.1:4222,nats://[fd00::1]')
  expect(good.optionalUrls('OUTER', schemes)).toBe('wss://a.example/bus,wss://b.example:8443/bus')
  expect(good.optionalUrls('ABSENT', schemes)).toBeUndefined()
  expect(() => good.finish()).not.toThrow()

  const wrong = { X_A: 'nats://a:1,,b:2', X_B: 'nats://a/x', X_C: 'nats://a,wss://b' }
  const bad = new EnvReader(wrong, 'X_')
  for (const name of ['A', 'B', 'C', 'D']) bad.urls(name, schemes)
  expect(() => bad.finish()).toThrow(
    [
      'Configuration:',
      "  X_A: '' is not an address; give nats:// or wss:// with a host and a port, several with commas between them",
      "  X_A: 'b:2' is not an address; give nats:// or wss:// with a host and a port, several with commas between them",
      "  X_B: 'nats://a/x' may have a scheme, a host and a port only",
      '  X_C: WebSockets and other addresses cannot be mixed; give one kind',
      '  X_D is not set',
    ].join('\n'),
  )
})

test('values are read, and fall back where they may', () => {
  const read = new EnvReader({ X_PORT: '80', X_LIST: 'a, b,,', X_ON: 'true', X_EMPTY: '' }, 'X_')

  expect(read.integer('PORT', 1)).toBe(80)
  expect(read.list('LIST')).toEqual(['a', 'b'])
  expect(read.boolean('ON', false)).toBe(true)
  expect(read.text('EMPTY', 'usual')).toBe('usual')
  expect(read.choice('MODE', ['a', 'b'], 'b')).toBe('b')
  expect(() => read.finish()).not.toThrow()
})
