import { readFileSync, statSync } from 'node:fs'
import { waitFor } from '#common/wait-for.ts'
import { projectRoot } from '#deploy/paths.ts'
import { isRunning } from '#deploy/process/process-identity.ts'
import { logTail, startProcess } from '#deploy/process/start-process.ts'
import { stopProcess } from '#deploy/process/stop-process.ts'
import { compileCache } from '../compile-cache.ts'
import type { Running } from './cloud-process.ts'
import type { Program } from './program.ts'

/** A loaded machine makes tests slower and not red. */
const START_LIMIT_MS = 90_000
const DEATH_LIMIT_MS = 30_000

/** Runs a program as a process of its own, which dies with this one; its output goes to the log file. */
export async function runOutside(
  program: Program,
  env: Readonly<Record<string, string>>,
  {
    logFile,
    root,
    startLimitMs = START_LIMIT_MS,
  }: { readonly logFile: string; readonly root: string; readonly startLimitMs?: number },
): Promise<Running> {
  const before = statSync(logFile, { throwIfNoEntry: false })?.size ?? 0
  const identity = await startProcess({
    command: process.execPath,
    args: [program.script],
    env: {
      PATH: process.env['PATH'],
      TZ: 'UTC',
      // Of another folder nothing is kept.
      ...(root === projectRoot && { NODE_COMPILE_CACHE: compileCache() }),
      ...env,
    },
    directory: root,
    logFile,
    lifetime: 'with-parent',
  })
  const kill = async () => {
    if (isRunning(identity)) process.kill(identity.pid, 'SIGKILL')
    await waitFor(`${program.name} to die`, () => !isRunning(identity), DEATH_LIMIT_MS)
  }
  await waitFor(
    `${program.name} to serve`,
    () => {
      const output = readFileSync(logFile).subarray(before).toString()
      if (output.includes(program.serves)) return 'serves'
      return isRunning(identity) ? undefined : 'ended'
    },
    startLimitMs,
  ).then(
    (state) => {
      if (state === 'ended') throw new Error(`${program.name} ended: ${logTail(logFile)}`)
    },
    async (error: unknown) => {
      // Without this it would outlive the failed start, and hold its port against the next one.
      await kill()
      throw error
    },
  )
  return {
    stop: () => stopProcess(identity),
    kill,
    signal: (name) => {
      if (isRunning(identity)) process.kill(identity.pid, name)
    },
  }
}
