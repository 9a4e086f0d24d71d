import { readFileSync } from 'node:fs'
import { installFastResolver } from '#common/install-fast-resolver.ts'
import type { Program } from '#deploy/processes/program.ts'

// One process that serves as any number of cell and compute processes: those whose programs the given file lists.

const STARTED_AT_ONCE = 8

installFastResolver()
const { default: pLimit } = await import('p-limit')
const { configFromEnv } = await import('#cells/config.ts')
const { computeFromEnv } = await import('#cells/compute/from-env.ts')
const { startCell } = await import('#cells/context.ts')
const { untilSignal } = await import('#common/until-signal.ts')

const START: Readonly<Record<string, (settings: Program['settings']) => Promise<AsyncDisposable>>> =
  {
    'cells/main.ts': (settings) => startCell(configFromEnv(settings)),
    'cells/compute/main.ts': computeFromEnv,
  }

const programs = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as readonly Program[]
await pLimit(STARTED_AT_ONCE).map(programs, ({ script, settings }) => START[script]?.(settings))
await untilSignal()
process.exit()
