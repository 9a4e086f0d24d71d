import { describe, expect, test } from 'vitest'
import {
  compareMicroversions,
  HISTORY,
  isSupported,
  MAX,
  MIN,
  type Microversion,
  parseMicroversion,
  supportedMicroversions,
} from './microversions.ts'
import { VOLUME_HISTORY } from './volume-microversions.ts'

describe('HISTORY', () => {
  test('counts from 2.1 to 2.104 without a gap', () => {
    const expected = Array.from({ length: 104 }, (_, i) => `2.${i + 1}`)
    expect(HISTORY.map(([version]) => version)).toEqual(expected)
  })
})

describe('VOLUME_HISTORY', () => {
  test('counts from 3.0 to 3.71 without a gap', () => {
    const expected = Array.from({ length: 72 }, (_, i) => `3.${i}`)
    expect(VOLUME_HISTORY.map(([version]) => version)).toEqual(expected)
  })
})

describe('parseMicroversion()', () => {
  test('reads X.Y and latest', () => {
    expect(parseMicroversion('2.10')).toBe('2.10')
    expect(parseMicroversion('latest')).toBe(MAX)
  })

  test.each(['', '2', '2.', '2.01', 'v2.1', '2.1.0', ' 2.1', '2.-1', '02.1', 'Latest', '2.99999'])(
    'refuses %j',
    (text) => {
      expect(() => parseMicroversion(text)).toThrow(
        expect.objectContaining({ kind: 'invalid', message: expect.stringContaining(text) }),
      )
    },
  )
})

describe('compareMicroversions()', () => {
  test('orders by number, not by text', () => {
    const shuffled: Microversion[] = ['2.10', '2.9', '3.0', '2.1', '2.100']
    expect(shuffled.sort(compareMicroversions)).toEqual(['2.1', '2.9', '2.10', '2.100', '3.0'])
  })
})

describe('isSupported()', () => {
  test('holds from MIN to MAX', () => {
    expect(supportedMicroversions().at(0)).toBe(MIN)
    expect(supportedMicroversions().at(-1)).toBe(MAX)
    expect(isSupported('2.0')).toBe(false)
    expect(isSupported('3.1')).toBe(false)
  })
})
