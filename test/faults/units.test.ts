import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { projectRoot } from '#deploy/paths.ts'
import { freePort } from '#deploy/process/free-port.ts'
import { processTree } from '#deploy/process/process-tree.ts'
import { cellProgram } from '../env/cloud/cell-program.ts'
import { gatewayProgram } from '../env/cloud/gateway-program.ts'
import { type Cloud, startCloud } from '../env/cloud.ts'
import { isFullRun } from '../env/full-run.ts'

// Goal: programs work with the few rights that their units grant, and systemd restarts them when they end or hang. A
// systemd that the test starts runs them, in namespaces that end with the test.

const SYSTEMD = '/lib/systemd/systemd'
const NOBODY = 65_534
const BACK_LIMIT_MS = 60_000
/** So that the test need not wait for half a minute. */
const WATCHDOG = ['WatchdogSec=30', 'WatchdogSec=5'] as const

/** Containers may not allow the namespaces and mounts that it needs, also to root. */
function canRun(): boolean {
  if (process.getuid?.() !== 0 || !existsSync(SYSTEMD)) return false
  const mount = 'mount --make-rprivate / && mount -t cgroup2 cgroup2 /mnt'
  const own = ['--pid', '--mount', '--cgroup', '--fork', '--mount-proc']
  return spawnSync('unshare', [...own, 'sh', '-c', mount], { stdio: 'ignore' }).status === 0
}

/** The machine's own folders of services, units and control groups are not touched. */
const INIT = `set -e
mount --make-rprivate /
for folder in /run /var/lib /var/cache; do mount -t tmpfs tmpfs $folder; done
umount -R /sys/fs/cgroup || true
mount -t cgroup2 cgroup2 /sys/fs/cgroup
exec ${SYSTEMD} --system --unit=programs.target --log-target=console --show-status=no
`

describe.skipIf(!canRun())('programs as services', () => {
  const directory = mkdtempSync(join(tmpdir(), 'weir-services-'))
  const path = (name: string) => join(directory, name)
  let cloud: Cloud
  let port: number
  let systemd: ReturnType<typeof spawn>

  /** The settings as systemd reads them, with files that the units' user may read. */
  function writeSettings(name: string, settings: Readonly<Record<string, string>>): void {
    const lines = Object.entries(settings).map(([setting, value]) => {
      if (!setting.endsWith('_FILE')) return `${setting}=${value}`
      const copy = path(basename(value))
      copyFileSync(value, copy)
      chownSync(copy, NOBODY, NOBODY)
      return `${setting}=${copy}`
    })
    writeFileSync(path(name), lines.join('\n'), { mode: 0o600 })
  }

  /** The unit, for this checkout, alone on its machine. */
  function writeUnit(name: string): void {
    const shown = [projectRoot, realpathSync(join(projectRoot, 'node_modules')), directory]
    const unit = readFileSync(join(projectRoot, 'deploy/systemd', name), 'utf8')
      .replaceAll('/usr/lib/weir', projectRoot)
      .replaceAll('/etc/weir', directory)
      .replace(/^User=.*$/m, 'User=nobody')
      .replace(/^Group=.*$/m, 'Group=nogroup')
      .replace(/^(?:Wants|After)=.*\n/gm, '')
      .replace('[Unit]', '[Unit]\nDefaultDependencies=no')
      .replace('[Service]', `[Service]\nBindReadOnlyPaths=${shown.join(' ')}`)
      .replace('[Service]', `[Service]\nStandardOutput=append:${path(`${name}.log`)}`)
      .replace('[Service]', '[Service]\nStandardError=inherit')
      .replace(...WATCHDOG)
    writeFileSync(path(`units/${name}`), unit)
  }

  beforeAll(async () => {
    chmodSync(directory, 0o755)
    mkdirSync(path('units'))
    cloud = await startCloud({ gateways: 1, cells: 1, hostsPerCell: 1 })
    const { foundation } = cloud
    const [cell] = foundation.cells
    port = await freePort()
    const gateway = await gatewayProgram(foundation, {}, { nth: 9, port })
    writeSettings('gateway.env', {
      ...gateway.settings,
      GATEWAY_IMAGE_DIRECTORY: '/var/lib/weir/images',
      GATEWAY_LOG_LEVEL: 'info',
    })
    const process = await cellProgram(
      foundation,
      {},
      {
        cell: cell!,
        nth: 9,
        imageUrl: `${cloud.endpoints[0]}/image`,
      },
    )
    writeSettings('cell-north.env', { ...process.settings, CELL_LOG_LEVEL: 'info' })
    for (const name of ['weir-gateway.service', 'weir-cell@.service']) writeUnit(name)
    const wants = 'Wants=weir-gateway.service weir-cell@north.service'
    writeFileSync(path('units/programs.target'), `[Unit]\nDefaultDependencies=no\n${wants}\n`)
    writeFileSync(path('init.sh'), INIT)
    const own = ['--pid', '--mount', '--uts', '--ipc', '--cgroup', '--fork', '--kill-child']
    systemd = spawn(
      'setpriv',
      ['--pdeathsig', 'KILL', '--', 'unshare', ...own, '--mount-proc', 'sh', path('init.sh')],
      {
        stdio: 'ignore',
        env: { PATH: globalThis.process.env['PATH'], SYSTEMD_UNIT_PATH: path('units') },
      },
    )
    await once(systemd, 'spawn')
  })

  afterAll(async () => {
    if (systemd?.exitCode === null) {
      systemd.kill('SIGKILL')
      await once(systemd, 'exit')
    }
    await cloud?.[Symbol.asyncDispose]()
    rmSync(directory, { recursive: true, force: true })
  })

  function pidOf(script: string): number | undefined {
    return processTree(systemd.pid ?? 0)
      .map(({ pid }) => pid)
      .find((pid) => commandOf(pid).includes(script))
  }

  const isReady = async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined)
    return answer?.status === 200
  }
  const isServing = () => readFileSync(path('weir-cell@.service.log'), 'utf8')

  test('serve, as a user without any right', async () => {
    await expect.poll(isReady, { timeout: BACK_LIMIT_MS }).toBe(true)
    await expect.poll(isServing, { timeout: BACK_LIMIT_MS }).toContain('cell serves')

    for (const script of ['gateway/main.ts', 'cells/main.ts']) {
      const status = readFileSync(`/proc/${pidOf(script)}/status`, 'utf8')
      expect(status).toMatch(new RegExp(`^Uid:\\s+${NOBODY}\\s`, 'm'))
      expect(status).toMatch(/^CapEff:\s+0+$/m)
      expect(status).toMatch(/^CapBnd:\s+0+$/m)
      expect(status).toMatch(/^NoNewPrivs:\s+1$/m)
      expect(status).toMatch(/^Seccomp:\s+2$/m)
    }
  })

  test.runIf(isFullRun).each([
    ['ends', 'SIGKILL'],
    ['hangs', 'SIGSTOP'],
  ] as const)('are started again: one that %s', async (_what, signal) => {
    const former = pidOf('gateway/main.ts')
    process.kill(former ?? Number.NaN, signal)

    const current = () => pidOf('gateway/main.ts')
    await expect.poll(current, { timeout: BACK_LIMIT_MS }).not.toBe(former)
    await expect.poll(isReady, { timeout: BACK_LIMIT_MS }).toBe(true)
    expect(current()).toBeDefined()
  })
})

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
  } catch {
    return ''
  }
}
