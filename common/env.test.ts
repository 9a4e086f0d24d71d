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

test('values are read, and fall back where they may', () => {
  const read = new EnvReader({ X_PORT: '80', X_LIST: 'a, b,,', X_ON: 'true', X_EMPTY: '' }, 'X_')

  expect(read.integer('PORT', 1)).toBe(80)
  expect(read.list('LIST')).toEqual(['a', 'b'])
  expect(read.boolean('ON', false)).toBe(true)
  expect(read.text('EMPTY', 'usual')).toBe('usual')
  expect(read.choice('MODE', ['a', 'b'], 'b')).toBe('b')
  expect(() => read.finish()).not.toThrow()
})
