import { configFromEnv as computeConfig } from '#cells/compute/config.ts'
import { configFromEnv as cellConfig } from '#cells/config.ts'
import type { Env } from '#common/env.ts'
import { Failure } from '#common/errors.ts'
import { OTEL_PREFIX, traceExportFromEnv } from '#common/trace/settings.ts'
import { configFromEnv as gatewayConfig } from '#gateway/config.ts'
import type { Finding } from '../doctor/finding.ts'
import { checkAddresses } from './check-addresses.ts'
import { checkFiles } from './check-files.ts'

interface CheckedProgram {
  readonly name: string
  readonly prefix: string
  /** Throws an error with a line for each wrong setting. */
  readonly read: (env: Env) => unknown
}

/** What every program reads. */
const OF_ALL: CheckedProgram = {
  name: 'exporter of traces',
  prefix: OTEL_PREFIX,
  read: traceExportFromEnv,
}
const PROGRAMS: readonly CheckedProgram[] = [
  { name: 'gateway', prefix: 'GATEWAY_', read: gatewayConfig },
  { name: 'cell', prefix: 'CELL_', read: cellConfig },
  { name: 'compute', prefix: 'COMPUTE_', read: computeConfig },
]

export interface CheckOptions {
  /** Nothing is connected to. */
  readonly isOffline: boolean
}

/**
 * What is wrong with the settings of the programs that `env` has any settings of: their names and values, the files
 * that they name, and the addresses. Throws `not-found` where it has settings of no program.
 */
export async function checkSettings(
  env: Env,
  { isOffline }: CheckOptions,
): Promise<readonly Finding[]> {
  const present = PROGRAMS.filter(({ prefix }) =>
    Object.keys(env).some((name) => name.startsWith(prefix)),
  )
  if (present.length === 0)
    throw new Failure(
      'not-found',
      'There are no settings of a gateway (GATEWAY_…), a cell (CELL_…) or a compute (COMPUTE_…). Name a file that has them: ./weir config check --env-file FILE',
    )
  const hasTraces = Object.keys(env).some((name) => name.startsWith(OTEL_PREFIX))
  const checked = hasTraces ? [...present, OF_ALL] : present
  const values = checked.flatMap((program) => checkValues(program, env))
  const files = checkFiles(env)
  const isWrong = values.some(({ is }) => is === 'bad')
  if (isOffline || isWrong) return [...values, ...files]
  return [...values, ...files, ...(await checkAddresses(env))]
}

function checkValues({ name, read }: CheckedProgram, env: Env): readonly Finding[] {
  try {
    read(env)
    return [{ is: 'ok', what: `the settings of the ${name} have names and values that it accepts` }]
  } catch (error) {
    if (!(error instanceof Error)) throw error
    const lines = error.name === 'SettingsError' ? error.message.split('\n').slice(1) : []
    const problems = lines.length > 0 ? lines : [error.message]
    return problems.map((line) => ({ is: 'bad', what: line.trim() }))
  }
}
