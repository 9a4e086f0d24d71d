import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '#common/errors.ts'
import { isRunning, type ProcessIdentity, processIdentity } from '../process/process-identity.ts'
import type { Layout } from './layout.ts'

/**
 * Held while a deployment is brought up or down, so that two commands do not undo each other. Throws `conflict`
 * while a running process holds it; a holder that died holds nothing.
 */
export function lockDeployment(layout: Layout): Disposable {
  mkdirSync(layout.home, { recursive: true, mode: 0o700 })
  const file = join(layout.home, 'lock.json')
  const holder = holderOf(file)
  if (holder !== undefined && !isRunning(holder)) rmSync(file, { force: true })
  // There with its content or not at all, wherever this is killed: a lock without a holder would be held for ever.
  const draft = `${file}.${process.pid}`
  writeFileSync(draft, JSON.stringify(processIdentity(process.pid)), { mode: 0o600 })
  try {
    linkSync(draft, file)
  } catch (cause) {
    const pid = holder?.pid ?? 'unknown'
    throw new Failure('conflict', `Another ./weir up or down is at work (pid ${pid}).`, { cause })
  } finally {
    rmSync(draft, { force: true })
  }
  return { [Symbol.dispose]: () => rmSync(file, { force: true }) }
}

function holderOf(file: string): ProcessIdentity | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as ProcessIdentity
  } catch {
    return undefined
  }
}
