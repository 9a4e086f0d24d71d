import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { EnvReader } from '#common/env.ts'
import { readFenceDevices, readFencing, WatchedFenceDevices } from './fence-devices.ts'

const folder = mkdtempSync(join(tmpdir(), 'weir-fence-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const written = (name: string, content: string) => {
  writeFileSync(join(folder, name), content)
  return join(folder, name)
}
const passwordFile = written('password', 'secret\n')
const device = { bmc: '192.0.2.7', user: 'weir', password_file: passwordFile }
const devicesFile = (devices: object) => written('devices.json', JSON.stringify(devices))

test('devices are read by the names of their hosts, with passwords from files', () => {
  const file = devicesFile({
    one: device,
    two: { ...device, port: 6_230, privilege: 'administrator' },
  })

  expect([...readFenceDevices(file)]).toEqual([
    [
      'one',
      { address: '192.0.2.7', port: 623, user: 'weir', password: 'secret', privilege: 'operator' },
    ],
    [
      'two',
      {
        address: '192.0.2.7',
        port: 6_230,
        user: 'weir',
        password: 'secret',
        privilege: 'administrator',
      },
    ],
  ])
})

test.each([
  ['a user that no BMC knows', { ...device, user: 'a-user-of-17-char' }, /\/one\/user/],
  ['an unknown property', { ...device, pasword: 'x' }, /\/one must not have pasword/],
  [
    'a password that is not there',
    { ...device, password_file: '/nowhere' },
    /password_file of one: .*nowhere/,
  ],
  [
    'a password that no BMC knows',
    { ...device, password_file: written('long', 'x'.repeat(21)) },
    /longer than 20 bytes/,
  ],
])('%s is refused with its place', (_what, wrong, says) => {
  expect(() => readFenceDevices(devicesFile({ one: wrong }))).toThrow(says)
})

test('a changed file is read again', () => {
  const watched = new WatchedFenceDevices(devicesFile({ one: device }))
  expect([...watched.read().keys()]).toEqual(['one'])

  const file = devicesFile({ two: device })
  utimesSync(file, 1, 1)

  expect([...watched.read().keys()]).toEqual(['two'])
})

test('a cell without the file fences no host, and refuses a file that it cannot use', () => {
  const fencing = (env: Readonly<Record<string, string>>) =>
    readFencing(new EnvReader(env, 'CELL_'))

  expect(fencing({})).toBeUndefined()
  expect(fencing({ CELL_FENCE_DEVICES_FILE: devicesFile({}) })).toMatchObject({
    afterMs: 30_000,
    hostsMax: 2,
  })
  expect(() => fencing({ CELL_FENCE_DEVICES_FILE: '/nowhere' })).toThrow(
    /CELL_FENCE_DEVICES_FILE: \/nowhere/,
  )
})
