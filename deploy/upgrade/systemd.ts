import { Failure } from '#common/errors.ts'
import { runTool } from '../packages/run-tool.ts'

/** What systemd says of a unit. */
export interface UnitState {
  readonly active: string
  /** 0 while it does not run. */
  readonly pid: number
  /** It is to be started or stopped, and is not yet. */
  readonly isChanging: boolean
  /** How often it has ended by itself since it was last started. */
  readonly restarts: number
  readonly settingsFiles: readonly string[]
}

const LIMIT_MS = 30_000
const PATTERNS = ['weir-gateway.service', 'weir-cell@*.service', 'weir-compute@*.service']
const SHOWN = ['ActiveState', 'MainPID', 'Job', 'NRestarts', 'EnvironmentFiles']

/** The units of programs that run on this machine, or should: those that were stopped are left out. */
export async function programUnits(): Promise<readonly string[]> {
  const listed = await systemctl('list-units', '--plain', '--no-legend', '--full', ...PATTERNS)
  return listed
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([name, , active]) => name !== '' && active !== 'inactive')
    .map(([name = '']) => name)
}

export async function unitState(unit: string): Promise<UnitState> {
  const text = await systemctl('show', `--property=${SHOWN.join(',')}`, unit)
  const lines = text.split('\n').map((line) => {
    const at = line.indexOf('=')
    return [line.slice(0, at), line.slice(at + 1)] as const
  })
  const value = (name: string) => lines.find(([own]) => own === name)?.[1] ?? ''
  return {
    active: value('ActiveState'),
    pid: Number(value('MainPID')),
    isChanging: Number(value('Job')) !== 0,
    restarts: Number(value('NRestarts')),
    settingsFiles: lines
      .filter(([name]) => name === 'EnvironmentFiles')
      .map(([, file]) => file.replace(/ \(ignore_errors=(?:yes|no)\)$/, '')),
  }
}

/** The unit is being stopped and started. */
export async function beginRestart(unit: string): Promise<void> {
  await systemctl('daemon-reload')
  await systemctl('restart', '--no-block', unit)
  // Only now: one that ends again and again does so until here.
  await systemctl('reset-failed', unit)
}

async function systemctl(...args: readonly string[]): Promise<string> {
  try {
    return await runTool('systemctl', ['--no-pager', ...args], { limitMs: LIMIT_MS })
  } catch (cause) {
    throw new Failure(
      'unavailable',
      'systemd does not answer. Run this as root, on a machine whose units run Weir.',
      { cause },
    )
  }
}
