import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

const SYSTEM_PATH = ['/usr/sbin', '/usr/bin', '/sbin', '/bin']

/** Why real guests cannot run here; undefined when they can. With CI set, a reason is an error instead. */
export function whyNoGuests(commands: readonly string[]): string | undefined {
  const why = process.getuid?.() === 0 ? missingCommand(commands) : 'not root'
  if (why !== undefined && process.env['CI'] === 'true')
    throw new Error(`the libvirt tests must run in CI, but: ${why}`)
  return why
}

function missingCommand(commands: readonly string[]): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), ...SYSTEM_PATH]
  const missing = commands.filter((name) => !folders.some((f) => isExecutable(join(f, name))))
  return missing.length === 0 ? undefined : `not installed: ${missing.join(', ')}`
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
