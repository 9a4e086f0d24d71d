import { join } from 'node:path'
import type { Layout } from '../deployment/layout.ts'
import { projectRoot } from '../paths.ts'
import type { ProcessIdentity } from '../process/process-identity.ts'
import { startProcess } from '../process/start-process.ts'
import type { Program } from './program.ts'

/**
 * For glibc: a block of this size or more is the machine's again as soon as it is freed. By itself it learns from the
 * first such block freed, a password's hash of 16 MiB, to keep those that come after, in a heap per thread.
 */
const MALLOC = { MALLOC_MMAP_THRESHOLD_: String(1 << 20), MALLOC_ARENA_MAX: '2' } as const

export function logFile(layout: Layout, name: string): string {
  return join(layout.logs, `${name}.log`)
}

/** The program has been started and outlives this process; `record` as `startProcess` says. */
export function startProgram(
  layout: Layout,
  program: Program,
  record: (identity: ProcessIdentity) => void,
): Promise<ProcessIdentity> {
  return startProcess({
    command: process.execPath,
    args: [program.script],
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      LANG: process.env['LANG'],
      TZ: 'UTC',
      NODE_COMPILE_CACHE: layout.compileCache,
      ...MALLOC,
      ...program.settings,
    },
    directory: projectRoot,
    logFile: logFile(layout, program.name),
    lifetime: 'detached',
    record,
  })
}
