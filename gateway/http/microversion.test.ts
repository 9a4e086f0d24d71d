import { expect, test } from 'vitest'
import { MAX, MIN, supportedMicroversions } from '#openapi/microversions.ts'
import { negotiateMicroversion } from './microversion.ts'

const COMPUTE = { name: 'compute', versions: supportedMicroversions() }

test.each([
  ['no header', undefined, undefined, MIN],
  ['the legacy header', undefined, '2.53', '2.53'],
  ['the general header', 'compute 2.79', undefined, '2.79'],
  ['both: the general one wins', 'compute 2.79', '2.1', '2.79'],
  ['another service only', 'image 2.6', undefined, MIN],
  ['another service, and the legacy header', 'identity 3.1', '2.26', '2.26'],
  ['several services', 'identity 3.1, compute 2.60', undefined, '2.60'],
  ['another case', 'Compute 2.60', undefined, '2.60'],
  ['an empty legacy header', undefined, '', MIN],
  ['empty headers', '', ' ', MIN],
  ['latest', 'compute latest', undefined, MAX],
  ['latest in the legacy header', undefined, 'latest', MAX],
])('%s', (_name, general, legacy, expected) => {
  expect(negotiateMicroversion(COMPUTE, general, legacy)).toBe(expected)
})

test.each(['compute 2', 'compute x.y', 'compute', 'compute 2.1.1', 'compute 02.1', 'compute 2.-1'])(
  '%s is malformed',
  (header) => {
    expect(() => negotiateMicroversion(COMPUTE, header, undefined)).toThrow(
      expect.objectContaining({ kind: 'invalid' }) as Error,
    )
  },
)

test.each(['1.0', '2.0', '2.999', '3.0'])('%s is not served: 406 naming the range', (version) => {
  expect(() => negotiateMicroversion(COMPUTE, `compute ${version}`, undefined)).toThrow(
    expect.objectContaining({
      status: 406,
      message: expect.stringMatching(`${MIN} to ${MAX}`) as string,
    }) as Error,
  )
})

test('each service reads its own entry and knows its own range', () => {
  const placement = { name: 'placement', versions: ['1.0', '1.1'] as const }
  const header = 'compute 2.79, placement latest'

  expect(negotiateMicroversion(placement, header, undefined)).toBe('1.1')
  expect(negotiateMicroversion(placement, 'compute 2.79', undefined)).toBe('1.0')
  expect(() => negotiateMicroversion(placement, 'placement 2.79', undefined)).toThrow('1.0 to 1.1')
})

test('a service is also asked by its types in the catalog', () => {
  const volume = {
    name: 'volume',
    types: ['block-storage', 'volumev3'],
    versions: ['3.0', '3.27'] as const,
  }

  for (const type of ['volume', 'volumev3', 'Block-Storage'])
    expect(negotiateMicroversion(volume, `compute 2.79, ${type} 3.27`, undefined)).toBe('3.27')
})
