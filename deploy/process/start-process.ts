import { spawn } from 'node:child_process'
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
}

export type Lifetime = 'detached' | 'with-parent'

const LOG_TAIL_CHARS = 2_000

/** The process has been started; whether it is ready is the caller's to find out. */
export async function startProcess(options: ProcessOptions): Promise<ProcessIdentity> {
  const log = openSync(options.logFile, 'a', 0o600)
  const [command, args] =
    options.lifetime === 'detached'
      ? [options.command, options.args]
      : ['setpriv', ['--pdeathsig', 'KILL', '--', options.command, ...options.args]]
  const child = spawn(command, args, {
    cwd: options.directory,
    env: options.env,
    stdio: ['ignore', log, log],
    detached: options.lifetime === 'detached',
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
  return identity
}

/** The end of a log, for messages about a process that did not come up. */
export function logTail(logFile: string): string {
  return readFileSync(logFile, 'utf8').slice(-LOG_TAIL_CHARS).trim()
}
