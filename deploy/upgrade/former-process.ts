import { existsSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { StartedProgram } from '../deployment/state.ts'
import { isRunning, type ProcessIdentity } from '../process/process-identity.ts'
import { startProcess } from '../process/start-process.ts'
import { runsFromHere } from './running-code.ts'

/** What a process was started with, so that it can be started so again. */
export interface FormerProcess {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly folder: string
  readonly settingsDigest: string
}

/** Undefined for one that does not run, and where another release has taken the place of its own. */
export function formerProcess(started: StartedProgram): FormerProcess | undefined {
  const { pid, settingsDigest } = started
  if (!isRunning(started) || runsFromHere(pid)) return undefined
  const folder = readlinkSync(`/proc/${pid}/cwd`)
  const [, ...args] = listIn(`/proc/${pid}/cmdline`)
  // Options of Node come before it.
  const script = args.find((arg) => !arg.startsWith('-'))
  if (script === undefined || !existsSync(join(folder, script))) return undefined
  const env = Object.fromEntries(
    listIn(`/proc/${pid}/environ`).map((line) => {
      const at = line.indexOf('=')
      return [line.slice(0, at), line.slice(at + 1)]
    }),
  )
  return { command: readlinkSync(`/proc/${pid}/exe`), args, env, folder, settingsDigest }
}

/** It has been started as it was before. */
export async function startFormer(
  { command, args, env, folder }: FormerProcess,
  { logFile }: { readonly logFile: string },
  record: (identity: ProcessIdentity) => void,
): Promise<void> {
  await startProcess({
    command,
    args,
    env,
    directory: folder,
    logFile,
    lifetime: 'detached',
    record,
  })
}

/** Of a file in proc(5) whose entries end with NUL. */
function listIn(file: string): readonly string[] {
  return readFileSync(file, 'utf8').split('\0').slice(0, -1)
}
