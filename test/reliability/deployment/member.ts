import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectRoot } from '#deploy/paths.ts'
import { isRunning, type ProcessIdentity } from '#deploy/process/process-identity.ts'
import { startProcess } from '#deploy/process/start-process.ts'
import type { Program } from '#deploy/processes/program.ts'
import { compileCache } from '#test/env/compile-cache.ts'
import { Relay } from '#test/env/relay.ts'

export const MEMBER_KINDS = ['gateway', 'cell', 'compute', 'database', 'bus'] as const
export type MemberKind = (typeof MEMBER_KINDS)[number]

/** A process of the deployment that faults happen to. One that has ended is started again by `keepUp`. */
export abstract class Member {
  readonly name: string
  readonly kind: MemberKind
  /** How often it ended without having been killed. */
  endedByItself = 0
  /** Why the last start failed; undefined where it did not. */
  startFailure: unknown
  #isKilled = true
  #starting: Promise<unknown> | undefined

  constructor(name: string, kind: MemberKind) {
    this.name = name
    this.kind = kind
  }

  /** Afterwards its wall clock is so many milliseconds ahead of the machine's; undefined where that cannot be. */
  abstract get moveClock(): ((aheadMs: number) => void) | undefined
  protected abstract identity(): ProcessIdentity | undefined
  protected abstract start(): Promise<void>

  get isRunning(): boolean {
    const identity = this.identity()
    return identity !== undefined && isRunning(identity)
  }

  /** It ends at any moment of its work. */
  kill(): void {
    this.#isKilled = true
    this.#signal('SIGKILL')
  }

  /** It stands still, with all its connections. */
  freeze(): void {
    this.#signal('SIGSTOP')
  }

  thaw(): void {
    this.#signal('SIGCONT')
  }

  /** Afterwards it runs, or `startFailure` says why not. */
  keepUp(): Promise<unknown> {
    if (this.isRunning && this.#starting === undefined) return Promise.resolve()
    if (this.#starting === undefined) {
      if (!this.#isKilled) this.endedByItself += 1
      this.#isKilled = false
      this.startFailure = undefined
      this.#starting = this.start()
        .catch((error: unknown) => (this.startFailure = error))
        .finally(() => (this.#starting = undefined))
    }
    return this.#starting
  }

  #signal(signal: NodeJS.Signals): void {
    const identity = this.identity()
    if (identity !== undefined && isRunning(identity)) process.kill(identity.pid, signal)
  }
}

/** How the launcher starts a service, and whose process its own file names. */
export interface ServiceWays {
  readonly start: () => Promise<unknown>
  readonly identity: () => ProcessIdentity | undefined
  /** Absent where its clock cannot be moved. */
  readonly moveClock?: (aheadMs: number) => void
}

/** The database or the bus. */
export class Service extends Member {
  readonly #ways: ServiceWays

  constructor(name: string, kind: MemberKind, ways: ServiceWays) {
    super(name, kind)
    this.#ways = ways
  }

  override get moveClock() {
    return this.#ways.moveClock
  }

  protected override identity(): ProcessIdentity | undefined {
    return this.#ways.identity()
  }

  protected override async start(): Promise<void> {
    await this.#ways.start()
  }
}

export type Wire = 'bus' | 'database'

/** A program of ours: all it says to bus and database goes through a relay, and its clock can be moved. */
export class ProgramMember extends Member {
  readonly wires: ReadonlyMap<Wire, Relay>
  readonly #program: Program
  readonly #folder: string
  #identity: ProcessIdentity | undefined

  private constructor(
    program: Program,
    kind: MemberKind,
    { folder, wires }: { folder: string; wires: ReadonlyMap<Wire, Relay> },
  ) {
    super(program.name, kind)
    this.#program = program
    this.#folder = folder
    this.wires = wires
    this.moveClock(0)
  }

  /** Wires it; it is started by the first `keepUp`. Its log and clock are files of the folder. */
  static async open(program: Program, kind: MemberKind, folder: string): Promise<ProgramMember> {
    const settings: Record<string, string> = { ...program.settings }
    const wires = new Map<Wire, Relay>()
    const prefix = kind.toUpperCase()
    const bus = await Relay.open(settings[`${prefix}_NATS_URL`] ?? '')
    wires.set('bus', bus)
    settings[`${prefix}_NATS_URL`] = bus.url
    const databaseFile = settings[`${prefix}_DATABASE_URL_FILE`]
    if (databaseFile !== undefined) {
      const database = await Relay.open(readFileSync(databaseFile, 'utf8').trim())
      wires.set('database', database)
      delete settings[`${prefix}_DATABASE_URL_FILE`]
      settings[`${prefix}_DATABASE_URL`] = database.url
    }
    return new ProgramMember({ ...program, settings }, kind, { folder, wires })
  }

  /** Takes effect within a tenth of a second. */
  override get moveClock() {
    return (aheadMs: number) => writeFileSync(this.#clockFile, String(aheadMs))
  }

  protected override identity(): ProcessIdentity | undefined {
    return this.#identity
  }

  protected override async start(): Promise<void> {
    this.#identity = await startProcess({
      command: process.execPath,
      args: ['--import', join(import.meta.dirname, 'moved-clock.ts'), this.#program.script],
      env: {
        PATH: process.env['PATH'],
        HOME: process.env['HOME'],
        TZ: 'UTC',
        NODE_COMPILE_CACHE: compileCache(),
        RELIABILITY_CLOCK_FILE: this.#clockFile,
        ...this.#program.settings,
      },
      directory: projectRoot,
      logFile: join(this.#folder, 'logs', `${this.name}.log`),
      lifetime: 'detached',
    })
  }

  async close(): Promise<void> {
    this.kill()
    for (const wire of this.wires.values()) await wire[Symbol.asyncDispose]()
    rmSync(this.#clockFile, { force: true })
  }

  get #clockFile(): string {
    return join(this.#folder, `${this.name}.clock`)
  }
}
