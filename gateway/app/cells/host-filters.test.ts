import { expect, test } from 'vitest'
import { runsHostFilter, usualFiltersFor } from './host-filters.ts'
import { sampleCell } from './testing.ts'

test('a cell runs usual filters unless it leaves them out, and others if it names them', () => {
  const usual = (filtersLeftOut?: string[]) =>
    runsHostFilter(sampleCell('a', filtersLeftOut && { filtersLeftOut }), 'SameHostFilter')
  const named = (optionalFilters?: string[]) =>
    runsHostFilter(sampleCell('a', optionalFilters && { optionalFilters }), 'JsonFilter')

  // A cell of the former release says nothing, and runs them.
  expect([usual(), usual([]), usual(['SameHostFilter'])]).toEqual([true, true, false])
  expect([named(), named([]), named(['JsonFilter'])]).toEqual([false, false, true])
  expect(runsHostFilter({ summary: undefined }, 'SameHostFilter')).toBe(true)
})

test.each([
  [{}, []],
  [{ 'hw:cpu_policy': 'dedicated', hide_hypervisor_id: 'true', 'trait:FAST': 'required' }, []],
  [{ 'resources1:VCPU': '1', group_policy: 'none', 'own:thing': 'x' }, []],
  [{ 'capabilities:host': 'a' }, ['ComputeCapabilitiesFilter']],
  [{ ssd: 'true' }, ['ComputeCapabilitiesFilter']],
  [{ 'aggregate_instance_extra_specs:ssd': 'true' }, ['AggregateInstanceExtraSpecsFilter']],
])('a flavor with %j depends on %j', (extraSpecs, expected) => {
  expect(usualFiltersFor({ extraSpecs, isBeside: false })).toEqual(expected)
  expect(usualFiltersFor({ extraSpecs, isBeside: true })).toEqual(['SameHostFilter', ...expected])
})
