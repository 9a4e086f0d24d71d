import { databaseUrls, joinDatabaseUrls } from '#common/db/database-url.ts'
import { projectRoot } from '#deploy/paths.ts'
import { Relay } from '../relay.ts'
import type { Program } from './program.ts'
import { runInside } from './run-inside.ts'
import { runOutside } from './run-outside.ts'

/** A program at work. */
export interface Running {
  /** Lets it finish what it has begun. */
  stop(): Promise<void>
  /** Ends the process in the middle of its work. */
  kill(): Promise<void>
  /** Its connections stay open, and it does nothing until it gets SIGCONT; absent from one inside the test's process. */
  signal?(name: 'SIGSTOP' | 'SIGCONT'): void
}

/**
 * One process of the cloud, which a test may stop, kill and start again. All its messages to the bus and to its
 * database go over wires that the test can cut: a program inside the test's process is killed by cutting them all.
 */
export class CloudProcess implements AsyncDisposable {
  readonly name: string
  readonly #program: Program
  readonly #isOutside: boolean
  readonly #logFile: string
  /** By setting, one for each address in it. */
  readonly #wires = new Map<string, readonly Relay[]>()
  #root = projectRoot
  #running: Running | undefined

  constructor(program: Program, isOutside: boolean, logFile: string) {
    this.name = program.name
    this.#program = program
    this.#isOutside = isOutside
    this.#logFile = logFile
  }

  /** The value of a variable in its environment. */
  setting(name: string): string {
    const value = this.#program.settings[name]
    if (value === undefined) throw new Error(`${this.name} has no setting ${name}`)
    return value
  }

  get isRunning(): boolean {
    return this.#running !== undefined
  }

  /** The wire of one of the program's `wires`, to the first of its addresses. */
  wire(setting: string): Relay {
    const [wire] = this.#wires.get(setting) ?? []
    if (wire === undefined) throw new Error(`${this.name} has no wire ${setting}`)
    return wire
  }

  /** Resolves when it serves. */
  async start(): Promise<void> {
    if (this.#running !== undefined) throw new Error(`${this.name} runs already`)
    const env = { ...this.#program.settings }
    for (const setting of this.#program.wires) {
      const relays = this.#wires.get(setting) ?? (await openRelays(setting, env[setting] ?? ''))
      for (const relay of relays) relay.set('pass')
      this.#wires.set(setting, relays)
      const urls = relays.map(({ url }) => url) as [string, ...string[]]
      env[setting] = isDatabase(setting) ? joinDatabaseUrls(urls) : urls.join(',')
    }
    this.#running = this.#isOutside
      ? await runOutside(this.#program, env, { logFile: this.#logFile, root: this.#root })
      : await runInside(this.#program, env, this.#relays())
  }

  /** From now on nothing that it does can be seen: it is dead but for its own end, for which the test calls `kill`. */
  cut(): void {
    for (const wire of this.#relays()) wire.set('refuse')
  }

  /** From its next start it is the program of the release in this folder. */
  runFrom(root: string): void {
    if (!this.#isOutside) throw new Error(`${this.name} runs inside the test's process`)
    this.#root = root
  }

  async stop(): Promise<void> {
    const running = this.#running
    this.#running = undefined
    await running?.stop()
  }

  async kill(): Promise<void> {
    const running = this.#running
    this.#running = undefined
    await running?.kill()
  }

  /** It does nothing until `resume`, and clients still connect to it. */
  suspend(): void {
    this.#signal('SIGSTOP')
  }

  resume(): void {
    this.#signal('SIGCONT')
  }

  /** From now on no message to or from it arrives, or none of one setting's addresses, until `thaw`; it does not notice. */
  freeze(setting?: string): void {
    const cut = setting === undefined ? this.#relays() : this.#wires.get(setting)
    if (cut === undefined) throw new Error(`${this.name} has no wire ${setting}`)
    for (const wire of cut) wire.set('hold')
  }

  thaw(): void {
    for (const wire of this.#relays()) wire.set('pass')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.thaw()
    this.#running?.signal?.('SIGCONT')
    await this.stop()
    for (const wire of this.#relays()) await wire[Symbol.asyncDispose]()
  }

  #signal(name: 'SIGSTOP' | 'SIGCONT'): void {
    const running = this.#running
    if (running?.signal === undefined) throw new Error(`${this.name} is no process of its own`)
    running.signal(name)
  }

  #relays(): readonly Relay[] {
    return [...this.#wires.values()].flat()
  }
}

function openRelays(setting: string, text: string): Promise<readonly Relay[]> {
  const urls = isDatabase(setting) ? databaseUrls(text) : text.split(',')
  return Promise.all(urls.map((url) => Relay.open(url)))
}

function isDatabase(setting: string): boolean {
  return setting.endsWith('_DATABASE_URL')
}
