import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { projectRoot } from '../paths.ts'

/** Checks that start no process of the deployment, quickest first. */
const CHECKS: readonly (readonly [name: string, ...command: string[]])[] = [
  ['format', 'node_modules/.bin/biome', 'ci', '.'],
  ['lint', 'node_modules/.bin/oxlint'],
  ['types', process.execPath, 'node_modules/.bin/tsc', '-p', '.'],
]

/** Runs every check, also after failed ones, and returns the names of those that failed. */
export async function runChecks(progress: (line: string) => void): Promise<readonly string[]> {
  const failed: string[] = []
  for (const [name, command, ...args] of CHECKS) {
    progress(`Checking ${name} ...`)
    if ((await runShown(command, args)) !== 0) failed.push(name)
  }
  return failed
}

/** The exit code of a program that writes to this terminal; 1 when a signal ended it. */
export async function runShown(
  command: string | undefined,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<number> {
  if (command === undefined) throw new Error('No command given')
  const child = spawn(command, args, { cwd: projectRoot, env, stdio: 'inherit' })
  const [code] = (await once(child, 'exit')) as [number | null]
  return code ?? 1
}
