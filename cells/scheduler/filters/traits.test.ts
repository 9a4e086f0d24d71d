import { expect, test } from 'vitest'
import type { HostState } from '../host-state.ts'
import { FILTER_SETTINGS, hostState, placementRequest } from '../testing.ts'
import { traitsFilter } from './traits.ts'

const wants = (required: readonly string[], forbidden: readonly string[] = []) =>
  placementRequest({ traits: { required, forbidden } })
const refusal = (state: Partial<HostState>, request = wants(['FAST'])) =>
  traitsFilter.refuse(hostState('a', state), request, FILTER_SETTINGS)

test('a host has all required traits, and no forbidden one', () => {
  expect(refusal({ traits: ['FAST', 'COMPUTE_NODE'] })).toBeUndefined()
  expect(refusal({ traits: ['COMPUTE_NODE'] })).toBe('lacks the trait FAST')
  expect(refusal({ traits: ['FAST', 'OLD'] }, wants(['FAST'], ['OLD']))).toBe(
    'has the trait OLD, which is forbidden',
  )
  expect(refusal({ traits: [] }, wants([]))).toBeUndefined()
})

test('one machine of a host is enough, and needs all traits itself', () => {
  const traits: readonly string[] = []

  expect(refusal({ traits, machineTraits: [['SLOW'], ['FAST']] })).toBeUndefined()
  expect(refusal({ traits, machineTraits: [['SLOW'], ['FAST']] }, wants(['SLOW', 'FAST']))).toBe(
    'has no machine that suits: one lacks the trait FAST',
  )
  expect(
    refusal({ traits, machineTraits: [['FAST', 'OLD'], ['FAST']] }, wants(['FAST'], ['OLD'])),
  ).toBeUndefined()
  expect(refusal({ traits, machineTraits: [] })).toBeUndefined()
})

test('a nested cloud judges by its own flavors', () => {
  expect(refusal({ traits: [], hasOwnFlavors: true })).toBeUndefined()
})
