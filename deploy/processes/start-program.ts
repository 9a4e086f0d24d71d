import { join } from 'node:path'
import type { Layout } from '../deployment/layout.ts'
import { projectRoot } from '../paths.ts'
import type { ProcessIdentity } from '../process/process-identity.ts'
import { startProcess } from '../process/start-process.ts'
import type { Program } from './program.ts'

export function logFile(layout: Layout, name: string): string {
  return join(layout.logs, `${name}.log`)
}

/** The program has been started and outlives this process. */
export function startProgram(layout: Layout, program: Program): Promise<ProcessIdentity> {
  return startProcess({
    command: process.execPath,
    args: [program.script],
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      LANG: process.env['LANG'],
      TZ: 'UTC',
      NODE_COMPILE_CACHE: layout.compileCache,
      ...program.settings,
    },
    directory: projectRoot,
    logFile: logFile(layout, program.name),
    lifetime: 'detached',
  })
}
