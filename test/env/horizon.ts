import { randomBytes } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { waitFor } from '#common/wait-for.ts'
import { runTool } from '#deploy/packages/run-tool.ts'
import { programsDirectory } from '#deploy/paths.ts'
import { freePort } from '#deploy/process/free-port.ts'
import { startProcess } from '#deploy/process/start-process.ts'
import { stopProcess } from '#deploy/process/stop-process.ts'

const PYTHON = '/usr/bin/python3'
const LIBRARY = '/usr/lib/python3/dist-packages/openstack_dashboard'
const MANAGE = join(programsDirectory, 'usr/share/openstack-dashboard/manage.py')
const LIMIT_MS = 180_000

/** Why Debian's dashboard cannot run here; undefined when it can. */
export function whyNoHorizon(): string | undefined {
  const missing = [LIBRARY, MANAGE].filter((file) => !existsSync(file))
  return missing.length === 0 ? undefined : `not installed: ${missing.join(', ')}`
}

/** Debian's Horizon on a loopback port. */
export interface Horizon extends AsyncDisposable {
  readonly url: string
}

/** Serves the dashboard of the cloud with this Keystone until it is disposed; it leaves nothing. */
export async function startHorizon(keystoneUrl: string): Promise<Horizon> {
  const directory = mkdtempSync(join(tmpdir(), 'weir-horizon-'))
  const settings = join(directory, 'settings', 'local')
  mkdirSync(settings, { recursive: true })
  writeFileSync(join(settings, '__init__.py'), '')
  copyFileSync(
    join(import.meta.dirname, 'horizon_settings.py'),
    join(settings, 'local_settings.py'),
  )
  const env = {
    // Before the settings of a dashboard that is installed on the machine.
    PYTHONPATH: join(directory, 'settings'),
    DJANGO_SETTINGS_MODULE: 'openstack_dashboard.settings',
    PYTHONDONTWRITEBYTECODE: '1',
    PYTHONWARNINGS: 'ignore',
    HORIZON_DIRECTORY: directory,
    HORIZON_PACKAGE: programsDirectory,
    HORIZON_SECRET_KEY: randomBytes(32).toString('hex'),
    HORIZON_KEYSTONE_URL: keystoneUrl,
  }
  const manage = (...args: readonly string[]) =>
    runTool(PYTHON, [MANAGE, ...args], { env, limitMs: LIMIT_MS })
  await manage('collectstatic', '--noinput')
  await manage('compress', '--force')
  const url = `http://127.0.0.1:${await freePort()}`
  const served = await startProcess({
    command: PYTHON,
    args: [MANAGE, 'runserver', '--noreload', '--insecure', new URL(url).host],
    env: { PATH: process.env['PATH'], ...env },
    directory,
    logFile: join(directory, 'served.log'),
    lifetime: 'with-parent',
  })
  const answers = async () => (await fetch(`${url}/auth/login/`)).ok
  await waitFor('Horizon to answer', () => answers().catch(() => false), LIMIT_MS)
  return {
    url,
    [Symbol.asyncDispose]: async () => {
      await stopProcess(served)
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
