import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { problemsOf, readMetadata } from './agent-metadata.ts'

/** As the agents of Debian 12 (4.12.1) print it, without the descriptions. */
const recorded = (agent: string) =>
  readMetadata(readFileSync(new URL(`testing/${agent}.xml`, import.meta.url), 'utf8'))
const problems = (agent: string, ...given: readonly string[]) =>
  problemsOf(recorded(agent), new Set(given))

test('an agent that powers machines off takes the parameters that it knows', () => {
  expect(problems('fence_ipmilan', 'ip', 'username', 'password', 'lanplus')).toEqual([])
  expect(problems('fence_virsh', 'ip', 'username', 'plug', 'identity_file')).toEqual([])
})

test('parameters may have their former names', () => {
  expect(problems('fence_virsh', 'ipaddr', 'login', 'port')).toEqual([])
})

test('a parameter that it does not know is named, with the one that may be meant', () => {
  expect(problems('fence_ipmilan', 'ip', 'usrname', 'colour')).toEqual([
    'It has no parameter usrname. Perhaps username is meant.',
    'It has no parameter colour.',
  ])
})

test('each parameter that is needed and absent is named', () => {
  expect(problems('fence_virsh', 'username')).toEqual([
    'It needs the parameter ip.',
    'It needs the parameter plug.',
  ])
})

test('agents that leave guests running, or cannot say that a machine is off, are of no use', () => {
  expect(problems('fence_scsi', 'plug')).toEqual([expect.stringContaining('their guests run on')])
  expect(problems('fence_kdump')).toEqual([expect.stringContaining('It has no action status')])
})

test.each(['', 'usage: fence_ack_manual <nodename>', '<!DOCTYPE a><a/>', '<a><b></a>'])(
  'what is no metadata is refused: %j',
  (text) => {
    expect(() => readMetadata(text)).toThrow(/Its metadata/)
  },
)
