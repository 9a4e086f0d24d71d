import { expect, test } from 'vitest'
import { FILTER_SETTINGS, hostState, placementRequest } from '../testing.ts'
import { jsonFilter } from './json-query.ts'

/** A host of 16 VCPUs and 1,024 MiB with no servers. */
const refusal = (query: unknown) => {
  const text = typeof query === 'string' ? query : JSON.stringify(query)
  const request = placementRequest({ hints: { query: [text] } })
  return jsonFilter.refuse(hostState('a'), request, FILTER_SETTINGS)
}

test.each([
  [['=', '$hypervisor_type', 'QEMU']],
  [['=', '$cpu_info.topology.cores', 8]],
  [['<', '$vcpus_used', 1]],
  [['>', '$free_ram_mb', 1_023]],
  [['>=', '$free_ram_mb', 1_024]],
  [['<=', '$free_ram_mb', 1_024]],
  [['<', 1, 2, 3]],
  [['in', '$host', 'b', 'a']],
  [['not', ['=', '$host', 'b'], ['=', '$host', 'c']]],
  [['and', ['=', '$host', 'a'], ['>', '$vcpus_total', 15]]],
  [['or', ['=', '$host', 'b'], ['=', '$host', 'a']]],
  [['not', '$colour']],
])('%j holds', (query) => {
  expect(refusal(query)).toBeUndefined()
})

test.each([
  [['=', '$hypervisor_type', 'KVM']],
  [['<', '$vcpus_used', 0]],
  [['>', '$free_ram_mb', 1_024]],
  [['>=', '$free_ram_mb', 1_025]],
  [['<=', '$free_ram_mb', 1_023]],
  [['<', 1, 2, 1]],
  [['=', '$host']],
  [['in', '$host', 'b', 'c']],
  [['not', ['=', '$host', 'b'], ['=', '$host', 'a']]],
  [['and', ['=', '$host', 'a'], ['>', '$vcpus_total', 16]]],
  [['or', ['=', '$host', 'b'], ['=', '$host', 'c']]],
  [['or', '$colour', false]],
  [['=', '$colour', 'blue']],
  [['<', '$colour', 1]],
  [['>', 1, '$colour']],
  [['=', '$colour', 'undefined']],
  [['=', 'undefined', '$colour']],
  [['in', '$colour', 'undefined']],
  [['in', 'undefined', '$colour', 'blue']],
  [['not', true]],
])('%j does not hold', (query) => {
  expect(refusal(query)).toBe(`does not match the query ${JSON.stringify(query)}`)
})

test('a query without a meaning is named', () => {
  expect(() => refusal('[')).toThrow('the hint query is not JSON: [')
  expect(() => refusal(['like', '$host', 'a'])).toThrow('the unknown operator like')
  expect(() => refusal(['constructor', 1, 1])).toThrow('the unknown operator constructor')
  expect(() => refusal({ host: 'a' })).toThrow('the hint query is not a list')
  expect(() => refusal([])).toThrow('the hint query is not a list')
  const nested = (depth: number) =>
    Array.from({ length: depth }).reduce<unknown>((inner) => ['not', inner], true)
  expect(refusal(nested(20))).toBeUndefined()
  expect(() => refusal(nested(21))).toThrow('nested more than 20 deep')
})

test('no query refuses no host', () => {
  expect(jsonFilter.refuse(hostState('a'), placementRequest(), FILTER_SETTINGS)).toBeUndefined()
})
