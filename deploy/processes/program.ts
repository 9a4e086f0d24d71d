import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Env } from '#common/env.ts'
import type { Layout } from '../deployment/layout.ts'
import { projectRoot } from '../paths.ts'
import type { ProcessIdentity } from '../process/process-identity.ts'
import { startProcess } from '../process/start-process.ts'

/** A program of ours as it is started: `node SCRIPT` with these settings and nothing else of this environment. */
export interface Program {
  /** Also the name of its log, and of `./weir logs NAME`. */
  readonly name: string
  readonly script: string
  readonly settings: Readonly<Record<string, string>>
}

/** The settings of an environment whose names begin so, for a program to be started with. */
export function passedOn(env: Env, prefix: string): Readonly<Record<string, string>> {
  const own = Object.entries(env).filter(([name]) => name.startsWith(prefix))
  return Object.fromEntries(own.map(([name, value]) => [name, value ?? '']))
}

/**
 * Changes whenever a setting of the program changes, or the content of a file that a setting names. A missing file is
 * reported by the program itself.
 */
export function settingsDigest({ settings }: Program): string {
  const hash = createHash('sha256')
  for (const [name, value] of Object.entries(settings).toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    hash.update(JSON.stringify([name, name.endsWith('_FILE') ? contentOf(value) : value]))
  }
  return hash.digest('hex')
}

function contentOf(file: string): string | null {
  return existsSync(file) ? readFileSync(file, 'utf8') : null
}

/**
 * For glibc: a block of this size or more is the machine's again as soon as it is freed. By itself it learns from the
 * first such block freed, a password's hash of 16 MiB, to keep those that come after, in a heap per thread.
 */
const MALLOC = { MALLOC_MMAP_THRESHOLD_: String(1 << 20), MALLOC_ARENA_MAX: '2' } as const

/**
 * For V8: by itself its youngest generation shrinks to 1 MiB, which an idle gateway fills in a second or two. What is alive
 * at two collections grows old, and old garbage takes a hundred times as long to collect. Under load it grows to 32 MiB by
 * itself, and a gateway to three times its size; with 8 MiB a boot takes a thirtieth more of its CPU.
 */
const V8_OPTIONS = ['--min-semi-space-size=4', '--max-semi-space-size=8'] as const

/** What a program is started with after `node`. */
export function nodeArguments({ script }: Pick<Program, 'script'>): readonly string[] {
  return [...V8_OPTIONS, script]
}

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
    args: nodeArguments(program),
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
