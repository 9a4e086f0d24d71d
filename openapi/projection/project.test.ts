import { describe, expect, test } from 'vitest'
import { breakpointsOf, rangeIndexOf } from './breakpoints.ts'
import { projectSchema } from './project.ts'

const ANNOTATED = {
  type: 'object',
  required: ['id', 'tag', 'policies'],
  'x-hint': 'text for messages',
  properties: {
    id: {
      description: 'shared',
      'x-variants': [
        { 'x-until': '2.52', type: 'integer' },
        { 'x-since': '2.53', type: 'string' },
      ],
    },
    tag: {
      'x-ranges': [{ since: '2.32', until: '2.36' }, { since: '2.42' }],
      type: 'string',
    },
    key: { 'x-required': { 'x-since': '2.92' }, type: 'string' },
    policies: {
      'x-until': '2.63',
      type: 'array',
      items: { enum: ['hard', 'soft'], 'x-values': { soft: { 'x-since': '2.15' } } },
    },
  },
}

describe('projectSchema()', () => {
  test('keeps the members of the first microversion', () => {
    expect(projectSchema(ANNOTATED, '2.1')).toEqual({
      type: 'object',
      required: ['id', 'policies'],
      properties: {
        id: { description: 'shared', type: 'integer' },
        key: { type: 'string' },
        policies: { type: 'array', items: { enum: ['hard'] } },
      },
    })
  })

  test('keeps the members of a late microversion', () => {
    expect(projectSchema(ANNOTATED, '2.93')).toEqual({
      type: 'object',
      required: ['id', 'tag', 'key'],
      properties: {
        id: { description: 'shared', type: 'string' },
        key: { type: 'string' },
        tag: { type: 'string' },
      },
    })
  })

  test('leaves out removed members and brings back those that returned', () => {
    const has = (version: '2.31' | '2.32' | '2.36' | '2.37' | '2.42') => {
      const { properties } = projectSchema(ANNOTATED, version) as typeof ANNOTATED
      return 'tag' in properties
    }
    expect([has('2.31'), has('2.32'), has('2.36'), has('2.37'), has('2.42')]).toEqual([
      false,
      true,
      true,
      false,
      true,
    ])
  })

  test('takes a property called like a keyword for a property', () => {
    const schema = { properties: { properties: { 'x-since': '2.98', type: 'object' } } }
    expect(projectSchema(schema, '2.97')).toEqual({ properties: {} })
    expect(projectSchema(schema, '2.98')).toEqual({
      properties: { properties: { type: 'object' } },
    })
  })

  test('keeps the annotations asked for', () => {
    const kept = projectSchema(
      { type: 'integer', 'x-lenient': true },
      '2.1',
      new Set(['x-lenient']),
    )
    expect(kept).toEqual({ type: 'integer', 'x-lenient': true })
  })
})

describe('rangeIndexOf()', () => {
  test('is equal exactly where the projections are', () => {
    const breakpoints = breakpointsOf(ANNOTATED)
    const stretch = (version: '2.1' | '2.14' | '2.15' | '2.52' | '2.53' | '2.64' | '2.91') =>
      rangeIndexOf(breakpoints, version)
    expect(stretch('2.1')).toBe(stretch('2.14'))
    expect(stretch('2.14')).not.toBe(stretch('2.15'))
    expect(stretch('2.52')).not.toBe(stretch('2.53'))
    expect(stretch('2.64')).toBe(stretch('2.91'))
  })
})
