import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { readAgent, readPacemaker } from './agent-settings.ts'

const folder = mkdtempSync(join(tmpdir(), 'weir-agents-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const written = (name: string, content: string, mode = 0o755) => {
  writeFileSync(join(folder, name), content)
  chmodSync(join(folder, name), mode)
  return join(folder, name)
}
const program = written('fence_virsh', '#!/bin/sh')
const password_file = written('password', 'secret\n')
const device = { agent: 'fence_virsh', parameters: { ip: '192.0.2.3', plug: 'north-1' } }
const read = (content: object, directory = folder) => {
  const place = { setting: 'FENCE', file: 'devices.json', at: '/north-1' }
  return readAgent(place, content, directory)
}

test('an agent is a program of its directory, with parameters, and secrets from files', () => {
  const more = { password_file, parameter_files: { secret_key: password_file } }

  expect(read({ ...device, ...more })).toEqual({
    ...{ name: 'fence_virsh', program, parameters: device.parameters },
    secrets: { password: 'secret', secret_key: 'secret' },
  })
})

const parameters = (more: object) => ({ ...device, parameters: { ...device.parameters, ...more } })

test.each([
  ['a path', { ...device, agent: '/bin/sh' }, /\/north-1\/agent must match pattern/],
  ['another program', { ...device, agent: 'sh' }, /\/north-1\/agent must match pattern/],
  ['a way out', { ...device, agent: 'fence_/../../bin/sh' }, /\/agent must match pattern/],
  [
    'one that is not installed',
    { ...device, agent: 'fence_gone' },
    /fence_gone is not in .*: install the package that has it, such as fence-agents\./,
  ],
  ['a further parameter in a value', parameters({ ip: 'a\naction=on' }), /\/parameters\/ip must/],
  ['a number', parameters({ ipport: 623 }), /\/parameters\/ipport must be string/],
  ['an unknown property', { ...device, user: 'weir' }, /\/north-1 must not have user/],
  ['the action', parameters({ action: 'on' }), /parameter action is given by the cell/],
  ['a password for all to read', parameters({ passwd: 'x' }), /name a file in password_file/],
  ['a program', parameters({ password_script: '/tmp/x' }), /run another program/],
  ['a program by its path', parameters({ sudo_path: '/tmp/x' }), /run another program/],
  ['a file for all that is said', parameters({ debug_file: '/tmp/x' }), /such as the password/],
  ['a machine that is on afterwards', parameters({ method: 'cycle' }), /method must be onoff/],
  [
    'a parameter twice',
    { ...parameters({ token: 'a' }), parameter_files: { token: password_file } },
    /parameter token is given twice/,
  ],
  ['a secret that is not there', { ...device, password_file: '/nowhere' }, /ENOENT.*nowhere/],
  [
    'a secret of two lines',
    { ...device, password_file: written('lines', 'a\nb') },
    /lines has to be one line/,
  ],
])('%s is refused with its place', (_what, content, says) => {
  expect(() => read(content)).toThrow(says)
  expect(() => read(content)).toThrow(/FENCE: devices\.json: \/north-1/)
})

test('a program that others may have written is not run', () => {
  written('fence_open', '#!/bin/sh', 0o777)
  expect(() => read({ ...device, agent: 'fence_open' })).toThrow(
    /fence_open can be written by others/,
  )

  const open = join(folder, 'open')
  mkdirSync(open)
  writeFileSync(join(open, 'fence_virsh'), '#!/bin/sh')
  chmodSync(open, 0o777)
  expect(() => read(device, open)).toThrow(/open can be written by others/)
})

test('a node of Pacemaker is fenced by the program of its package', () => {
  const place = { setting: 'FENCE', file: 'devices.json', at: '/north-1' }
  const pacemaker = (content: object) => readPacemaker(place, content, folder)
  const node = 'north-1.example'
  expect(() => pacemaker({ pacemaker: node })).toThrow(
    /stonith_admin is not in .*: install the package that has it, such as pacemaker-cli-utils/,
  )

  const program = written('stonith_admin', '#!/bin/sh')
  expect(pacemaker({ pacemaker: node })).toEqual({ node, program })
  expect(() => pacemaker({ pacemaker: '--confirm' })).toThrow(/\/north-1\/pacemaker must match/)
  expect(() => pacemaker({ pacemaker: node, user: 'x' })).toThrow(/\/north-1 must not have user/)
})
