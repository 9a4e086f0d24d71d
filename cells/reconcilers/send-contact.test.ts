import { expect, test } from 'vitest'
import type { Host } from '../hosts/host.ts'
import { hostsInTouch } from './send-contact.ts'

// Goal: a host that was left alone is told of no contact by any process, and others are told of it while the database is away.

const host = (name: string, isUp: boolean, isLeftAlone: boolean) =>
  ({ name, isUp, isLeftAlone }) as Partial<Host> as Host
const all = [host('heard', true, false), host('silent', false, false), host('alone', true, true)]
const told = (readAgeMs: number, leavesAlone: boolean) =>
  hostsInTouch({ readAgeMs, all: () => all, isUp: ({ isUp }) => isUp }, leavesAlone).map(
    ({ name }) => name,
  )

test('hosts are told that are heard and were not left alone', () => {
  expect(told(1_000, true)).toEqual(['heard'])
})

test('a process that does not know which hosts were left alone tells none, where any may have been', () => {
  expect(told(5_001, true)).toEqual([])
  expect(told(5_001, false)).toEqual(['heard'])
})
