import { execFile, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { promisify } from 'node:util'
import { runCommand } from '#deploy/cli/run-command.ts'
import { projectRoot } from '#deploy/paths.ts'
import { EXIT_CODES } from '#gateway/cli/exit-codes.ts'
import { scriptedOperator } from '#gateway/cli/testing/scripted-operator.ts'
import { clientSettings, type Settings } from './client-program.ts'
import type { Cloud } from './cloud.ts'
import { compileCache } from './compile-cache.ts'

export interface CommandOutcome {
  readonly code: number
  readonly out: string
  readonly err: string
}

const RUN_LIMIT_MS = 60_000
const MAIN = join(projectRoot, 'deploy/cli/main.ts')

/** The `weir` command of a user with only an account in the environment. */
export class WeirCommand {
  readonly #env: Settings
  readonly #directory: string

  constructor(cloud: Cloud, who: 'admin' | 'demo') {
    const [endpoint = ''] = cloud.endpoints
    this.#env = clientSettings(`${endpoint}/identity/v3`, cloud.foundation.accounts[who])
    this.#directory = cloud.foundation.directory
  }

  /** Inside this process, however it ends. The line is split at blanks. */
  async run(line: string): Promise<CommandOutcome> {
    const operator = scriptedOperator({ env: this.#env, directory: this.#directory })
    await runCommand(operator, line.split(' '))
    const { out, err, ending } = operator.written
    return { code: EXIT_CODES[ending], out, err }
  }

  /** Its answer in JSON; throws its output when it fails. */
  async json<T = Readonly<Record<string, unknown>>>(line: string): Promise<T> {
    const { code, out, err } = await this.run(`${line} -o json`)
    if (code !== 0) throw new Error(`weir ${line}: ended with ${code}: ${err}`)
    return JSON.parse(out) as T
  }

  /** As a program of its own, in the way of `./weir`. Throws when it fails. */
  async spawn(line: string): Promise<{ readonly stdout: string; readonly stderr: string }> {
    return promisify(execFile)(process.execPath, [MAIN, ...line.split(' ')], this.#options())
  }

  /**
   * Runs it as a program that does not end by itself, until it has written a line for which `isEnough` is true; returns
   * that line.
   */
  async follow(line: string, isEnough: (line: string) => boolean): Promise<string> {
    const child = spawn(process.execPath, [MAIN, ...line.split(' ')], this.#options())
    try {
      for await (const written of createInterface({ input: child.stdout }))
        if (isEnough(written)) return written
    } finally {
      child.kill()
    }
    throw new Error(`weir ${line}: ended before it had written enough`)
  }

  #options() {
    const env = {
      ...this.#env,
      WEIR_HOME: join(this.#directory, 'no-deployment'),
      NODE_COMPILE_CACHE: compileCache(),
    }
    return { env, timeout: RUN_LIMIT_MS }
  }
}
