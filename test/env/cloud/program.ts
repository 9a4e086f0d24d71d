import type { Env } from '#common/env.ts'

/** One of the cloud's programs: the same settings start it inside the test's process or as a process of its own. */
export interface Program {
  /** Unique in the cloud. */
  readonly name: string
  /** Its main file, from the root of the project. */
  readonly script: string
  /** Its whole environment, but for what it is wired to. */
  readonly settings: Readonly<Record<string, string>>
  /** Names of settings that hold the URL of the bus and of its database. */
  readonly wires: readonly string[]
  /** Starts it inside this process; resolves when it serves. */
  readonly inside: (env: Env) => Promise<AsyncDisposable>
  /** The log line of a program that serves. */
  readonly serves: string
}
