import { expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import { configFromEnv } from './config.ts'

const configWith = (change: Readonly<Record<string, string>>) =>
  configFromEnv({
    CELL_ID: newId(),
    CELL_NAME: 'north',
    CELL_PROCESS: 'one',
    CELL_DATABASE_URL: 'mysql://127.0.0.1/north',
    CELL_SECRET_KEY: '0'.repeat(64),
    CELL_NATS_URL: 'nats://127.0.0.1',
    ...change,
  })

test('optional filters run only where an operator names them', () => {
  expect(configWith({}).filters).toContain('RamFilter')
  expect(configWith({}).filters).toContain('BackendInstancesFilter')
  expect(configWith({}).filters).not.toContain('NumInstancesFilter')
  const named = { CELL_SCHEDULING_FILTERS: 'ComputeFilter, NumInstancesFilter' }
  expect(configWith(named).filters).toEqual(['ComputeFilter', 'NumInstancesFilter'])
})

test('a host may have 50 instances, or the number of the setting, which is at least 1', () => {
  const maxWith = (value: string) =>
    configWith({ CELL_MAX_INSTANCES_PER_HOST: value }).filterSettings.maxInstancesPerHost

  expect(maxWith('')).toBe(50)
  expect(maxWith('1')).toBe(1)
  for (const value of ['0', '-1', '1.5', 'many'])
    expect(() => maxWith(value)).toThrow(`CELL_MAX_INSTANCES_PER_HOST: ${value} is not an integer`)
})

test('an ssl: address of OVN needs the files with which the cell authenticates itself', () => {
  const ovn = {
    CELL_OVN_NORTHBOUND: 'ssl:192.0.2.1:6641',
    CELL_OVN_SOUTHBOUND: 'ssl:192.0.2.1:6642',
  }
  expect(() => configWith(ovn)).toThrow(/CELL_OVN_CA_FILE[^]*CELL_OVN_KEY_FILE/)
})
