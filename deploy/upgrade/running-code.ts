import { lstatSync, readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { projectRoot } from '../paths.ts'
import { processIdentity } from '../process/process-identity.ts'
import { PROGRAM_FOLDERS } from '../release/tree.ts'

/** The release that a process was started from. */
export interface RunningCode {
  readonly folder: string
  /** Of its package.json; undefined where the folder is gone, or has had another release put into it since. */
  readonly release: string | undefined
  /** True where the process was started with the code that this command runs. */
  readonly isThis: boolean
}

/** Of times in proc(5), whatever the kernel's own clock: USER_HZ. */
const MS_PER_TICK = 10

/** Undefined when no process has this pid, or one of another user. */
export function runningCode(pid: number): RunningCode | undefined {
  const folder = folderOf(pid)
  const startedAt = startOf(pid)
  if (folder === undefined || startedAt === undefined) return undefined
  if (folder !== realpathSync(projectRoot))
    return { folder, release: releaseIn(folder), isThis: false }
  const isThis = startedAt >= placedAt()
  return { folder, release: isThis ? releaseIn(folder) : undefined, isThis }
}

/** True where the process was started from the folder of this command. */
export function runsFromHere(pid: number): boolean {
  return folderOf(pid) === realpathSync(projectRoot)
}

/** For people. */
export function describeCode({ folder, release, isThis }: RunningCode): string {
  if (release !== undefined) return release
  return isThis ? 'this release' : `what was in ${folder} before`
}

/** The version in the package.json of a folder; undefined where it has none. */
function releaseIn(folder: string): string | undefined {
  try {
    const text = readFileSync(join(folder, 'package.json'), 'utf8')
    return (JSON.parse(text) as { readonly version?: string }).version
  } catch {
    return undefined
  }
}

function folderOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`)
  } catch {
    return undefined
  }
}

/** Milliseconds since the epoch. */
function startOf(pid: number): number | undefined {
  const identity = processIdentity(pid)
  if (identity === undefined) return undefined
  const [uptimeS] = readFileSync('/proc/uptime', 'utf8').split(' ')
  return Date.now() - Number(uptimeS) * 1_000 + identity.startTicks * MS_PER_TICK
}

/** When the newest file of the programs came to be what it is. A package sets the other times of a file, never this one. */
function placedAt(): number {
  const files = PROGRAM_FOLDERS.flatMap((folder) =>
    readdirSync(join(projectRoot, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /^(?!.*\bnode_modules\/).*(?<!\.test)\.ts$/.test(name))
      .map((name) => join(projectRoot, folder, name)),
  )
  const all = [...files, join(projectRoot, 'package-lock.json')]
  return Math.max(...all.map((file) => lstatSync(file).ctimeMs))
}
