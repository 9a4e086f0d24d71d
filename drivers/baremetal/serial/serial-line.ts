import { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SerialLog } from './serial-log.ts'

const REOPEN_MS = 2_000
/** A reader this far behind loses what comes next: a machine's console does not wait for people. */
const UNREAD_BYTES_MAX = 256 * 1024

/**
 * A machine's serial console for as long as a server has the machine. A BMC serves one session alone, so this one
 * keeps it: it writes the log, and gives the latest viewer its output and keyboard.
 */
export class SerialLine implements AsyncDisposable {
  readonly log: SerialLog
  readonly #open: (signal: AbortSignal) => Promise<Duplex>
  readonly #stop = new AbortController()
  readonly #following: Promise<void>
  #line: Duplex | undefined
  #tap: Tap | undefined

  constructor(open: (signal: AbortSignal) => Promise<Duplex>, log: SerialLog) {
    this.#open = open
    this.log = log
    this.#following = this.#follow()
  }

  /** The output from now on, and a way to type. The viewer before loses the console. */
  attach(): Duplex {
    this.hangUp()
    this.#tap = new Tap((bytes) => this.#line?.write(bytes))
    return this.#tap
  }

  /** Afterwards the console has no viewer: the machine is off. */
  hangUp(): void {
    this.#tap?.hangUp()
    this.#tap = undefined
  }

  /** Afterwards the console is free. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.hangUp()
    this.#stop.abort()
    this.#line?.destroy()
    await this.#following
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      await this.#listen(signal)
      await sleep(REOPEN_MS, undefined, { signal }).catch(() => undefined)
    }
  }

  /** Until the line breaks: a BMC may be silent for a while, or have given the console to another. */
  async #listen(signal: AbortSignal): Promise<void> {
    try {
      const line = await this.#open(signal)
      this.#line = line
      // Keystrokes into a line that has just broken are lost, as on a real one.
      line.on('error', () => {})
      for await (const bytes of line) {
        this.log.append(bytes as Buffer)
        this.#tap?.show(bytes as Buffer)
      }
    } catch {
      // Tried again for as long as it is wanted.
    } finally {
      this.#line?.destroy()
      this.#line = undefined
    }
  }
}

class Tap extends Duplex {
  readonly #type: (bytes: Buffer) => void

  constructor(type: (bytes: Buffer) => void) {
    super()
    this.#type = type
  }

  show(bytes: Buffer): void {
    if (!this.destroyed && this.readableLength < UNREAD_BYTES_MAX) this.push(bytes)
  }

  hangUp(): void {
    if (!this.destroyed) this.push(null)
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#type(chunk)
    done()
  }
}
