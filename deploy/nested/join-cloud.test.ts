import { describe, expect, test } from 'vitest'
import type { CellRecord } from '../deployment/state.ts'
import { begunCell } from './join-cloud.ts'

const SETTINGS = { auth_url: 'https://keystone.example', projects: 'any' }
const LAB = { name: 'lab', cloud: { settings: SETTINGS } } as unknown as CellRecord
const NORTH = { name: 'north' } as unknown as CellRecord
const STATE = { cells: [NORTH, LAB] }

describe('begunCell()', () => {
  test('knows a join that has begun by its name and settings', () => {
    expect(begunCell(STATE, 'lab', { ...SETTINGS })).toBe(LAB)
    expect(begunCell(STATE, 'other', SETTINGS)).toBeUndefined()
  })

  test.each([
    ['lab', { ...SETTINGS, projects: 'p' }, 'There is a cell lab already'],
    ['north', SETTINGS, 'There is a cell north already'],
    ['a b', SETTINGS, 'cannot be called'],
  ])('refuses %s for others', (name, settings, said) => {
    expect(() => begunCell(STATE, name, settings)).toThrow(said)
  })
})
