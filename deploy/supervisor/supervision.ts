import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Layout } from '../deployment/layout.ts'
import { projectRoot } from '../paths.ts'
import { isRunning, type ProcessIdentity } from '../process/process-identity.ts'
import { startProcess } from '../process/start-process.ts'
import { stopProcess } from '../process/stop-process.ts'
import { writeFileAtomically } from '../process/write-file-atomically.ts'
import { logFile } from '../processes/program.ts'
import { runsFromHere } from '../upgrade/running-code.ts'
import type { EndedProcess } from './restart-plan.ts'

/** What the supervisor of a deployment does. */
export interface Supervision {
  /** Undefined: it does not run, and nothing restarts what ends. */
  readonly pid: number | undefined
  readonly endedProcesses: readonly EndedProcess[]
}

interface Started extends ProcessIdentity {
  /** Of what it passes on to programs that it restarts. */
  readonly environmentDigest: string
}

const NAME = 'supervisor'
const GRACE_MS = 5_000

/**
 * Afterwards a supervisor restarts the processes of the deployment that end, until `endSupervision`. One that runs with
 * this environment, from this folder, is left as it is.
 */
export async function superviseDeployment(layout: Layout): Promise<void> {
  const digest = environmentDigest()
  const known = startedOf(layout)
  if (known !== undefined && isRunning(known)) {
    if (known.environmentDigest === digest && runsFromHere(known.pid)) return
    await stopProcess(known, GRACE_MS)
  }
  await startProcess({
    command: process.execPath,
    args: ['deploy/supervisor/main.ts'],
    // A repair passes on what `./weir up` would have passed on.
    env: { ...process.env, WEIR_HOME: layout.home, NODE_COMPILE_CACHE: layout.compileCache },
    directory: projectRoot,
    logFile: logFile(layout, NAME),
    lifetime: 'detached',
    record: (identity) =>
      writeFileAtomically(
        startedFile(layout),
        JSON.stringify({ ...identity, environmentDigest: digest }),
      ),
  })
}

/** Afterwards no supervisor of the deployment runs, and no repair that it began. */
export async function endSupervision(layout: Layout): Promise<void> {
  const known = startedOf(layout)
  if (known !== undefined) await stopProcess(known, GRACE_MS)
  rmSync(startedFile(layout), { force: true })
  rmSync(endedProcessesFile(layout), { force: true })
}

/**
 * What the supervisor of a deployment has written: its pid, undefined if it does not run, and the processes
 * that ended.
 */
export function supervisionOf(layout: Layout): Supervision {
  const known = startedOf(layout)
  const pid = known !== undefined && isRunning(known) ? known.pid : undefined
  const file = endedProcessesFile(layout)
  const isTold = pid !== undefined && existsSync(file)
  return {
    pid,
    endedProcesses: isTold ? (JSON.parse(readFileSync(file, 'utf8')) as EndedProcess[]) : [],
  }
}

/** What `supervisionOf` shows from now on. */
export function writeEndedProcesses(layout: Layout, endedProcesses: readonly EndedProcess[]): void {
  writeFileAtomically(endedProcessesFile(layout), JSON.stringify(endedProcesses))
}

/** Lines for people about processes that ended: whether and when they are started again, and why they ended. */
export function describeEndedProcesses(endedProcesses: readonly EndedProcess[]): readonly string[] {
  return endedProcesses.map(({ name, deaths, isDown, lastAt, nextTryAt, reason }) => {
    const times = deaths === 1 ? 'once' : `${deaths} times in a row`
    const ended = `${name} ended ${times}, last at ${timeOf(lastAt)}`
    const next = isDown ? `is started again at ${timeOf(nextTryAt ?? lastAt)}` : 'was restarted'
    return `${ended}, and ${next}: ${reason} (./weir logs ${name})`
  })
}

function timeOf(at: number): string {
  return new Date(at).toISOString().replace(/\.\d+Z$/, 'Z')
}

/** The variables of this process that programs of the deployment are started with. */
export function ownEnvironment(): Readonly<Record<string, string>> {
  const own = Object.entries(process.env)
    .filter(([name]) => /^(?:PATH|HOME|LANG|(?:GATEWAY|CELL|COMPUTE)_.*)$/.test(name))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(own.map(([name, value]) => [name, value ?? '']))
}

function environmentDigest(): string {
  return createHash('sha256').update(JSON.stringify(ownEnvironment())).digest('hex')
}

function startedOf(layout: Layout): Started | undefined {
  const file = startedFile(layout)
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Started) : undefined
}

function startedFile({ home }: Layout): string {
  return join(home, 'supervisor.json')
}

function endedProcessesFile({ home }: Layout): string {
  return join(home, 'endedProcesses.json')
}
