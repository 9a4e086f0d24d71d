import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { Failure } from '#common/errors.ts'
import { type ProcessIdentity, processIdentity } from './process-identity.ts'

export interface ProcessOptions {
  readonly command: string
  readonly args: readonly string[]
  /** The whole environment of the process. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly directory: string
  /** Standard output and error are appended here. */
  readonly logFile: string
  /** `detached` outlives the starter; `with-parent` is killed by the kernel when the starter dies, however it dies. */
  readonly lifetime: Lifetime
  /**
   * Records the started process, so that another command can stop it. The program begins after that: should the
   * starter die first, it never does.
   */
  readonly record?: (identity: ProcessIdentity) => void
}

export type Lifetime = 'detached' | 'with-parent'

const LOG_TAIL_CHARS = 2_000
/** Both become the program, with the pid and start time they have; the first once it has read a line, or else ends. */
const BEFORE: Readonly<Record<Lifetime, readonly [string, ...string[]]>> = {
  detached: ['/bin/sh', '-c', 'read -r line && exec "$@" </dev/null', 'sh'],
  'with-parent': ['setpriv', '--pdeathsig', 'KILL', '--'],
}

/** The process has been started; whether it is ready is the caller's to find out. */
export async function startProcess(options: ProcessOptions): Promise<ProcessIdentity> {
  const log = openSync(options.logFile, 'a', 0o600)
  const isDetached = options.lifetime === 'detached'
  const [command, ...before] = BEFORE[options.lifetime]
  const child = spawn(command, [...before, options.command, ...options.args], {
    cwd: options.directory,
    env: options.env,
    stdio: [isDetached ? 'pipe' : 'ignore', log, log],
    detached: isDetached,
  })
  closeSync(log)
  await once(child, 'spawn')
  child.unref()
  const identity = child.pid === undefined ? undefined : processIdentity(child.pid)
  if (identity === undefined)
    throw new Failure(
      'unavailable',
      `${options.command} ended at once: ${logTail(options.logFile)}`,
    )
  options.record?.(identity)
  await tell(child)
  return identity
}

/** Afterwards it has its line, if it waits for one; one that has ended since is for the caller to find. */
async function tell({ stdin }: ChildProcess): Promise<void> {
  if (stdin === null) return
  stdin.on('error', () => {})
  await new Promise<void>((resolve) => {
    stdin.end('\n', () => resolve())
  })
}

/** The end of a log, for messages about a process that did not come up. */
export function logTail(logFile: string): string {
  return readFileSync(logFile, 'utf8').slice(-LOG_TAIL_CHARS).trim()
}
