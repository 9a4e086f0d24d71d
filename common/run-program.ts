import type { Env } from './env.ts'
import { installFastResolver } from './install-fast-resolver.ts'

/**
 * Runs a program from its start to its end. Wrong settings end it with exit code 2 and a line for each, without a stack.
 * `load` imports the program, after the fast resolver is installed.
 */
export async function runProgram(
  env: Env,
  load: () => Promise<{ readonly run: (env: Env) => Promise<void> }>,
): Promise<void> {
  installFastResolver()
  const { run } = await load()
  try {
    await run(env)
  } catch (error) {
    // By name: the class is imported with the program, after the resolver.
    if (!(error instanceof Error) || error.name !== 'SettingsError') throw error
    process.stderr.write(`${error.message}\n`)
    process.exitCode = 2
  }
}
