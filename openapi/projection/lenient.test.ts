import { describe, expect, test } from 'vitest'
import { coercerFor } from './lenient.ts'

const lenient = (type: unknown) => ({ type, 'x-lenient': true })

describe('coercerFor()', () => {
  test('is absent for a schema without lenient parts', () => {
    expect(coercerFor({ properties: { a: { type: 'integer' } }, items: {} })).toBeUndefined()
  })

  test.each([
    ['integer', '3', 3],
    ['integer', '-1', -1],
    ['integer', '3.5', '3.5'],
    ['integer', '0x3', '0x3'],
    ['integer', '9'.repeat(40), '9'.repeat(40)],
    ['number', '1.5', 1.5],
    ['boolean', 'True', true],
    ['boolean', 'off', false],
    ['boolean', 'maybe', 'maybe'],
    ['boolean', 1, 1],
    ['string', 7, '7'],
    [['string', 'null'], null, null],
    [['integer', 'null'], '4', 4],
  ])('reads as %j the value %j', (type, value, expected) => {
    expect(coercerFor(lenient(type))?.(value)).toEqual(expected)
  })

  test('reaches properties, other properties, items and branches, and nothing else', () => {
    const coerce = coercerFor({
      properties: {
        count: lenient('integer'),
        plain: { type: 'string' },
        list: {
          oneOf: [{ items: { properties: { on: lenient('boolean') } } }, { enum: ['none'] }],
        },
      },
      additionalProperties: lenient('string'),
    })
    const body = { count: '2', plain: '2', list: [{ on: 'yes' }], other: 3 }
    expect(coerce?.(body)).toEqual({ count: 2, plain: '2', list: [{ on: true }], other: '3' })
    expect(body.count).toBe('2')
    expect(coerce?.({ list: 'none' })).toEqual({ list: 'none' })
    expect(coerce?.('not an object')).toBe('not an object')
  })
})
