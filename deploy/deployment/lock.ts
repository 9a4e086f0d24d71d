import { randomUUID } from 'node:crypto'
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '#common/errors.ts'
import { isRunning, type ProcessIdentity, processIdentity } from '../process/process-identity.ts'
import type { Layout } from './layout.ts'

/** Of whom the lock is: people who give a command do not wait for the supervisor, which begins again later. */
export type LockHolder = 'command' | 'supervisor'

/** Another command brings the deployment up or down. */
export class DeploymentBusy extends Failure {
  constructor(pid: number | string, cause: unknown) {
    super('conflict', `Another ./weir up or down is at work (pid ${pid}).`, { cause })
  }
}

interface Held extends ProcessIdentity {
  readonly who?: LockHolder
}

const END_LIMIT_MS = 5_000
const POLL_MS = 5

/**
 * Held while a deployment is brought up or down, so that two commands do not undo each other. Throws `conflict`
 * while a running process holds it; a holder that died holds nothing. A command ends a repair by the supervisor that
 * holds it.
 */
export function lockDeployment(layout: Layout, who: LockHolder = 'command'): Disposable {
  mkdirSync(layout.home, { recursive: true, mode: 0o700 })
  const file = lockFile(layout)
  const holder = holderOf(file)
  if (holder?.who === 'supervisor' && who === 'command') endRepair(holder)
  if (holder !== undefined && !isRunning(holder)) rmSync(file, { force: true })
  // There with its content or not at all, wherever this is killed: a lock without a holder would be held for ever.
  const draft = `${file}.${process.pid}`
  writeFileSync(draft, JSON.stringify({ ...processIdentity(process.pid), who }), { mode: 0o600 })
  try {
    linkSync(draft, file)
  } catch (cause) {
    const pid = holder?.pid ?? 'unknown'
    throw new DeploymentBusy(pid, cause)
  } finally {
    rmSync(draft, { force: true })
  }
  return {
    [Symbol.dispose]() {
      if (who === 'command') writeFileSync(markFile(layout), randomUUID(), { mode: 0o600 })
      rmSync(file, { force: true })
    },
  }
}

/** Changes whenever a command has released the lock; undefined before the first. */
export function lastCommand(layout: Layout): string | undefined {
  const file = markFile(layout)
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined
}

/** True while a running process holds it. */
export function isLocked(layout: Layout): boolean {
  const holder = holderOf(lockFile(layout))
  return holder !== undefined && isRunning(holder)
}

function markFile({ home }: Layout): string {
  return join(home, 'last-command')
}

function lockFile({ home }: Layout): string {
  return join(home, 'lock.json')
}

/** Killed at any moment, a repair leaves what another one, or `./weir up`, completes. */
function endRepair(holder: ProcessIdentity): void {
  if (!isRunning(holder)) return
  process.kill(holder.pid, 'SIGKILL')
  const pause = new Int32Array(new SharedArrayBuffer(4))
  for (let waited = 0; isRunning(holder) && waited < END_LIMIT_MS; waited += POLL_MS)
    Atomics.wait(pause, 0, 0, POLL_MS)
}

function holderOf(file: string): Held | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Held
  } catch {
    return undefined
  }
}
