import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { layoutIn } from '../deployment/layout.ts'
import { projectRoot } from '../paths.ts'
import { findProgram } from '../process/find-program.ts'
import { nodeArguments } from '../processes/program.ts'
import { bootUnit, keepBootUnit, removeBootUnit } from './boot-unit.ts'

const INSTALLED = '/usr/lib/weir'
const hasAnalyze = spawnSync('systemd-analyze', ['--version']).status === 0
const directory = mkdtempSync(join(tmpdir(), 'weir-units-'))

afterAll(() => rmSync(directory, { recursive: true }))

/** Verifying a unit loads all units of the machine; what is said about those is not about Weir. */
const ABOUT_ANOTHER_UNIT = /^(?!weir-)[\w@.-]+\.(?:service|socket|target|timer|mount|slice): /

function analyze(...args: readonly string[]): {
  readonly code: number | null
  readonly said: readonly string[]
} {
  const { status, stdout, stderr } = spawnSync('systemd-analyze', args, { encoding: 'utf8' })
  const lines = (stdout + stderr).split('\n')
  return {
    code: status,
    said: lines.filter((line) => line !== '' && !ABOUT_ANOTHER_UNIT.test(line)),
  }
}

/** A unit of this folder as it is where Weir is installed, with the paths of this checkout. */
function installed(name: string): string {
  const file = join(directory, name)
  const text = readFileSync(join(import.meta.dirname, name), 'utf8')
  const present = text
    .replaceAll(INSTALLED, projectRoot)
    .replace(
      /^(ExecStart=)\/usr\/sbin\/(\S+)/m,
      (_, key: string, name: string) => key + findProgram(name),
    )
  writeFileSync(file, present)
  return file
}

test.each([
  ['weir-gateway.service', 'gateway/main.ts'],
  ['weir-cell@.service', 'cells/main.ts'],
  ['weir-compute@.service', 'cells/compute/main.ts'],
])('%s starts its program as up does', (file, script) => {
  const text = readFileSync(join(import.meta.dirname, file), 'utf8')

  const [, ...words] = /^ExecStart=(.*)$/m.exec(text)?.[1]?.split(' ') ?? []
  expect(words).toEqual(nodeArguments({ script }))
})

describe.skipIf(!hasAnalyze)('units', () => {
  test.each([
    // Exposure in tenths, from 0 to 100: the worse, the more a program that was taken over could do.
    ['weir-gateway.service', 'weir-gateway.service', 20],
    ['weir-cell@.service', 'weir-cell@north.service', 20],
    ['weir-mariadb.service', 'weir-mariadb.service', 20],
    ['weir-nats.service', 'weir-nats.service', 20],
    ['weir-haproxy.service', 'weir-haproxy.service', 20],
    ['weir-backup.service', 'weir-backup.service', 20],
    // It acts as root on the machine's hypervisor.
    ['weir-compute@.service', 'weir-compute@one.service', 80],
  ])('%s is valid, and no more exposed than it needs to be', (file, instance, exposureMax) => {
    installed(file)

    expect(analyze('verify', join(directory, instance))).toEqual({ code: 0, said: [] })
    const threshold = `--threshold=${exposureMax}`
    expect(
      analyze('security', '--offline=true', threshold, join(directory, instance)),
    ).toMatchObject({ code: 0 })
  })

  test('the timer of backups is valid, and starts their service', () => {
    installed('weir-backup.service')
    const timer = installed('weir-backup.timer')

    expect(analyze('verify', timer)).toEqual({ code: 0, said: [] })
    expect(analyze('calendar', '*-*-* 02:00:00')).toMatchObject({ code: 0 })
  })

  test('the unit that starts a deployment with the machine is valid, whatever its folder is called', () => {
    const layout = layoutIn(join(directory, 'a "strange" 100% folder'))
    const file = join(directory, 'weir-boot.service')
    writeFileSync(file, bootUnit(layout, { PATH: '/usr/bin', CELL_RETENTION_SAGAS_DAYS: '7' }))

    expect(analyze('verify', file)).toEqual({ code: 0, said: [] })
  })
})

test('keepBootUnit() enables one unit of a deployment, and removeBootUnit() leaves nothing', async () => {
  const layout = layoutIn(join(directory, 'home'))
  const units = join(directory, 'system')

  const file = await keepBootUnit(layout, units)
  expect(await keepBootUnit(layout, units)).toBe(file)

  const link = join(units, 'multi-user.target.wants', file.slice(units.length + 1))
  expect(readlinkSync(link)).toBe(`..${file.slice(units.length)}`)
  expect(statSync(link).mode & 0o777).toBe(0o644)
  expect(await removeBootUnit(layout, units)).toBe(true)
  expect(await removeBootUnit(layout, units)).toBe(false)
  expect([existsSync(link), existsSync(file)]).toEqual([false, false])
})

test('keepBootUnit() says what to do where units cannot be written', async () => {
  const units = join(directory, 'file')
  writeFileSync(units, '')

  await expect(keepBootUnit(layoutIn(directory), units)).rejects.toThrow(
    'Run ./weir up --boot as root',
  )
})
