import { expect, test } from 'vitest'
import { requestedTraits, whyTraitsDiffer } from './traits.ts'

test('a flavor requires and forbids traits, an image only requires them', () => {
  const flavor = {
    'trait:HW_CPU_X86_AVX2': 'required',
    'trait:CUSTOM_OLD': 'forbidden',
    'trait:CUSTOM_NEITHER': 'maybe',
    'hw:cpu_policy': 'required',
  }
  const image = {
    'trait:CUSTOM_FAST': 'required',
    'trait:CUSTOM_SLOW': 'forbidden',
    os_type: 'linux',
  }

  expect(requestedTraits(flavor, image)).toEqual({
    required: ['CUSTOM_FAST', 'HW_CPU_X86_AVX2'],
    forbidden: ['CUSTOM_OLD'],
  })
})

test('all required traits must be there, and no forbidden one', () => {
  const requested = { required: ['A', 'B'], forbidden: ['C'] }

  expect(whyTraitsDiffer(requested, ['B', 'A', 'D'])).toBeUndefined()
  expect(whyTraitsDiffer(requested, ['A'])).toBe('lacks the trait B')
  expect(whyTraitsDiffer(requested, ['A', 'B', 'C'])).toBe('has the trait C, which is forbidden')
  expect(whyTraitsDiffer({ required: [], forbidden: [] }, [])).toBeUndefined()
})
