import { once } from 'node:events'
import type { Duplex } from 'node:stream'
import type { Clock } from '#common/clock.ts'
import { Failure } from '#common/errors.ts'
import { CONSOLE_BYTES_MAX, type ConsoleAnswer } from '#openapi/wire/console.ts'

type Shown = ConsoleAnswer<'console-read'>

/** How long a guest may take to accept keystrokes. */
const WRITE_LIMIT_MS = 10_000

/** An open console. The guest's output is read only as fast as the client asks for it. */
export class ConsoleSession implements Disposable {
  readonly #stream: Duplex
  readonly #clock: Clock
  #shown = { seq: 0, answer: undefined as Promise<Shown> | undefined }
  #typed = { seq: 0, taken: Promise.resolve() }
  #isEnded = false

  constructor(stream: Duplex, clock: Clock) {
    this.#stream = stream
    this.#clock = clock
    // A console that breaks has ended; its user cannot use the reason.
    stream.on('error', () => {})
    for (const event of ['end', 'close'] as const)
      stream.once(event, () => {
        this.#isEnded = true
      })
  }

  /** The chunk of this number: the last one again, or the next. */
  read(seq: number, waitMs: number): Promise<Shown> {
    if (seq === this.#shown.seq && this.#shown.answer !== undefined) return this.#shown.answer
    this.#assertNext(seq, this.#shown.seq)
    const answer = this.#next(waitMs)
    this.#shown = { seq, answer }
    return answer
  }

  /** Resolves when the guest has taken the chunk; the last one again is not typed twice. */
  async write(seq: number, bytes: Buffer): Promise<void> {
    if (seq !== this.#typed.seq) {
      this.#assertNext(seq, this.#typed.seq)
      this.#typed = { seq, taken: this.#type(bytes) }
    }
    await this.#typed.taken
  }

  [Symbol.dispose](): void {
    this.#stream.destroy()
  }

  #assertNext(seq: number, last: number): void {
    if (seq !== last + 1)
      throw new Failure('invalid', `Chunk ${seq} of a console was requested after ${last}.`)
  }

  async #next(waitMs: number): Promise<Shown> {
    let bytes = this.#take()
    if (bytes === null && !this.#isEnded) {
      await this.#readable(waitMs)
      bytes = this.#take()
    }
    return { bytes: bytes?.toString('base64') ?? '', isEnded: bytes === null && this.#isEnded }
  }

  #take(): Buffer | null {
    const length = Math.min(this.#stream.readableLength, CONSOLE_BYTES_MAX)
    return this.#stream.read(length > 0 ? length : undefined) as Buffer | null
  }

  /** Resolves when there is something to read, when there will be nothing more, or after `waitMs`. */
  async #readable(waitMs: number): Promise<void> {
    const done = new AbortController()
    const events = ['readable', 'end', 'close'].map((event) =>
      once(this.#stream, event, { signal: done.signal }),
    )
    await Promise.race([...events, this.#clock.sleep(waitMs, done.signal)]).catch(() => {})
    done.abort()
    await Promise.allSettled(events)
  }

  async #type(bytes: Buffer): Promise<void> {
    if (this.#isEnded || this.#stream.writableEnded)
      throw new Failure('not-found', 'The console has ended.')
    const limit = AbortSignal.timeout(WRITE_LIMIT_MS)
    const taken = new Promise<void>((resolve, reject) => {
      this.#stream.write(bytes, (error) => (error ? reject(error) : resolve()))
      limit.addEventListener('abort', () => reject(limit.reason as Error))
    })
    await taken.catch((cause: unknown) => {
      throw new Failure('not-found', 'The console no longer accepts input.', { cause })
    })
  }
}
