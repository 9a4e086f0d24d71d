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
const source = (devices: object) => ({
  devicesFile: devicesFile(devices),
  agentsDirectory: folder,
})

test('devices are read by the names of their hosts, with passwords from files', () => {
  const devices = source({
    one: device,
    two: { ...device, port: 6_230, privilege: 'administrator' },
  })
  const bmc = { address: '192.0.2.7', user: 'weir', password: 'secret' }

  expect([...readFenceDevices(devices)]).toEqual([
    ['one', { bmc: { ...bmc, port: 623, privilege: 'operator' } }],
    ['two', { bmc: { ...bmc, port: 6_230, privilege: 'administrator' } }],
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
  expect(() => readFenceDevices(source({ one: wrong }))).toThrow(says)
})

test('a changed file is read again, and one that cannot be used says why and changes nothing', () => {
  const watched = new WatchedFenceDevices(source({ one: device }))
  expect([...watched.read().keys()]).toEqual(['one'])
  const change = (devices: object, at: number) => utimesSync(devicesFile(devices), at, at)

  change({ two: device }, 1)
  expect([...watched.read().keys()]).toEqual(['two'])

  change({ three: { ...device, user: 7 } }, 2)
  expect([...watched.read().keys()]).toEqual(['two'])
  expect(watched.problem).toContain('/three/user')

  change({ three: device }, 3)
  expect([...watched.read().keys()]).toEqual(['three'])
  expect(watched.problem).toBeNull()
})

test('a cell without the file fences no host, and refuses a file that it cannot use', () => {
  const fencing = (env: Readonly<Record<string, string>>, fenceAfterS = 0) =>
    readFencing(new EnvReader(env, 'CELL_'), fenceAfterS)

  expect(fencing({})).toBeUndefined()
  expect(fencing({ CELL_FENCE_DEVICES_FILE: devicesFile({}) })).toMatchObject({
    afterMs: 30_000,
    hostsMax: 2,
  })
  expect(() => fencing({ CELL_FENCE_DEVICES_FILE: '/nowhere' })).toThrow(
    /CELL_FENCE_DEVICES_FILE: \/nowhere/,
  )
  const self = { CELL_SELF_FENCING: 'true' }
  expect(fencing(self, 60)).toMatchObject({ stopsItselfAfterMs: 60_000 })
  expect(() => fencing(self)).toThrow(/CELL_SELF_FENCING: .+ only where CELL_FENCE_AFTER_S/)
})
