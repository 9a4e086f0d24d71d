import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '#common/errors.ts'
import type { Layout } from '../deployment/layout.ts'
import { runTool } from '../packages/run-tool.ts'
import { projectRoot } from '../paths.ts'
import { writeFileAtomically } from '../process/write-file-atomically.ts'
import { ownEnvironment } from '../supervisor/supervision.ts'

/** Where administrators' units are. */
const UNITS = '/etc/systemd/system'
/** There while systemd runs this machine. */
const RUNNING = '/run/systemd/system'
const UNIT_MODE = 0o644
const NAME_DIGITS = 8
const RELOAD_LIMIT_MS = 30_000

/**
 * Afterwards systemd brings the deployment up when the machine boots, and down when it shuts down; returns the path of
 * the unit. What runs now is not touched. Throws `forbidden` for a user who may not write units.
 */
export async function keepBootUnit(layout: Layout, directory: string = UNITS): Promise<string> {
  const { file, link } = pathsOf(layout, directory)
  try {
    mkdirSync(join(link, '..'), { recursive: true })
    writeFileAtomically(file, bootUnit(layout, ownEnvironment()), UNIT_MODE)
    rmSync(link, { force: true })
    symlinkSync(`../${nameOf(layout)}`, link)
  } catch (cause) {
    throw new Failure(
      'forbidden',
      `${file} cannot be written. Run ./weir up --boot as root, on a machine that systemd runs.`,
      { cause },
    )
  }
  await reload(directory)
  return file
}

/** True where the deployment comes up when the machine boots. */
export function hasBootUnit(layout: Layout, directory: string = UNITS): boolean {
  return existsSync(pathsOf(layout, directory).file)
}

/** Afterwards the deployment does not come up by itself when the machine boots. True if it did until now. */
export async function removeBootUnit(layout: Layout, directory: string = UNITS): Promise<boolean> {
  if (!hasBootUnit(layout, directory)) return false
  const { file, link } = pathsOf(layout, directory)
  rmSync(link, { force: true })
  rmSync(file)
  await reload(directory)
  return true
}

/** The unit's text. A deployment whose folder was deleted is passed over. */
export function bootUnit(
  { home, stateFile }: Layout,
  environment: Readonly<Record<string, string>>,
): string {
  const weir = join(projectRoot, 'weir')
  const settings = Object.entries({ ...environment, WEIR_HOME: home })
  return [
    '[Unit]',
    `Description=Weir deployment in ${escaped(home)}`,
    'Wants=network-online.target',
    'After=network-online.target',
    `ConditionPathExists=${escaped(weir)}`,
    `ConditionPathExists=${escaped(stateFile)}`,
    '',
    '[Service]',
    'Type=oneshot',
    'RemainAfterExit=yes',
    ...settings.map(([name, value]) => `Environment=${quoted(`${name}=${value}`)}`),
    `ExecStart=${command(weir)} up`,
    `ExecStop=${command(weir)} down`,
    'TimeoutStartSec=15min',
    'TimeoutStopSec=5min',
    'LimitNOFILE=65536',
    'TasksMax=infinity',
    '',
    '[Install]',
    'WantedBy=multi-user.target',
    '',
  ].join('\n')
}

/** A machine may have several deployments. */
function nameOf({ home }: Layout): string {
  const digits = createHash('sha256').update(home).digest('hex').slice(0, NAME_DIGITS)
  return `weir-${digits}.service`
}

function pathsOf(layout: Layout, directory: string) {
  const name = nameOf(layout)
  return { file: join(directory, name), link: join(directory, 'multi-user.target.wants', name) }
}

async function reload(directory: string): Promise<void> {
  if (directory !== UNITS || !existsSync(RUNNING)) return
  await runTool('systemctl', ['daemon-reload'], { limitMs: RELOAD_LIMIT_MS })
}

/** As systemd.syntax(7) has it: `%` begins a specifier. */
function escaped(text: string): string {
  return text.replaceAll('%', '%%')
}

/** In a command `$` begins a variable. */
function command(path: string): string {
  return quoted(path).replaceAll('$', '$$$$')
}

function quoted(text: string): string {
  return `"${escaped(text).replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
}
