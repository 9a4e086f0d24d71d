import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '#common/errors.ts'
import { isRunning, type ProcessIdentity, processIdentity } from '../process/process-identity.ts'

/** Held while the backups of a directory change. Throws `conflict` while a running process holds it. */
export function lockBackups(directory: string): Disposable {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const file = join(directory, 'lock.json')
  const holder = holderOf(file)
  if (holder !== undefined && !isRunning(holder)) rmSync(file, { force: true })
  // There with its content or not at all: a lock without a holder would be held for ever.
  const draft = `${file}.${process.pid}`
  writeFileSync(draft, JSON.stringify(processIdentity(process.pid)), { mode: 0o600 })
  try {
    linkSync(draft, file)
  } catch (cause) {
    const pid = holder?.pid ?? 'unknown'
    const message = `Another ./weir backup writes to ${directory} (pid ${pid}). Run it again when that has ended.`
    throw new Failure('conflict', message, { cause })
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
