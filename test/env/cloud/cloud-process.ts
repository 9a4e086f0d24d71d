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
  readonly #wires = new Map<string, Relay>()
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

  /** The wire of one of the program's `wires`. */
  wire(setting: string): Relay {
    const wire = this.#wires.get(setting)
    if (wire === undefined) throw new Error(`${this.name} has no wire ${setting}`)
    return wire
  }

  /** Resolves when it serves. */
  async start(): Promise<void> {
    if (this.#running !== undefined) throw new Error(`${this.name} runs already`)
    const env = { ...this.#program.settings }
    for (const setting of this.#program.wires) {
      const relay = this.#wires.get(setting) ?? (await Relay.open(env[setting] ?? ''))
      relay.set('pass')
      this.#wires.set(setting, relay)
      env[setting] = relay.url
    }
    this.#running = this.#isOutside
      ? await runOutside(this.#program, env, this.#logFile)
      : await runInside(this.#program, env, [...this.#wires.values()])
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

  /** From now on no message to or from it arrives, until `thaw`; it does not notice. */
  freeze(): void {
    for (const wire of this.#wires.values()) wire.set('hold')
  }

  thaw(): void {
    for (const wire of this.#wires.values()) wire.set('pass')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.thaw()
    await this.stop()
    for (const wire of this.#wires.values()) await wire[Symbol.asyncDispose]()
  }
}
