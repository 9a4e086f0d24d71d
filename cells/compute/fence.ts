import { readFile, rename, writeFile } from 'node:fs/promises'
import type { Clock } from '#common/clock.ts'
import { Failure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import { ifAbsent } from '#common/if-absent.ts'
import type { Logger } from '#common/log.ts'
import { type ReconcilerReport, RunningReconciler } from '#common/reconciler.ts'
import type { Driver } from '#drivers/driver.ts'

export interface FenceOptions {
  /** The file for state that must outlive this process. */
  readonly file: string
  readonly driver: Driver
  readonly clock: Clock
  readonly log: Logger
}

interface Kept {
  /** Milliseconds since the epoch. */
  readonly contactAt: number
  /** 0: never. */
  readonly fenceAfterMs: number
  /** Guests that the fence has stopped and that have not run since. */
  readonly ended: readonly InstanceId[]
}

const POLL_MS = 500
/** The interval of checks while the fence is off. */
const IDLE_MS = 60_000
const BACKEND_TIMEOUT_MS = 20_000
/**
 * A compute that was paused for long has received no contact: it waits for the next one before it stops guests that
 * may have every right to run. They ran all the while anyway.
 */
const AFTER_START_MAX_MS = 15_000
/** How much of its time may pass before a contact is written down. */
const WRITTEN_AFTER = 0.1

/**
 * Stops every guest once no gateway has been in touch with the cell for the time that the cell sets, and lets none
 * run until one is again: an operator who gives the cell up then knows when its last guest has stopped.
 */
export class Fence implements AsyncDisposable {
  readonly #options: FenceOptions
  readonly #running: RunningReconciler
  readonly #ended: Set<InstanceId>
  readonly #openedAt: number
  #kept: Kept
  /** By `Clock.elapsed`, as are the others. */
  #contactAt: number
  /** The contact that the file records. */
  #writtenAt: number
  #isClosed = false
  /** Since it has closed, all guests have stopped. */
  #hasStopped = false
  /** Milliseconds since the epoch. */
  #stoppedAt = 0
  #writing: Promise<void> = Promise.resolve()

  private constructor(options: FenceOptions, kept: Kept) {
    this.#options = options
    this.#kept = kept
    const { clock } = options
    this.#openedAt = clock.elapsed()
    // A contact to come was written by a clock that was set back since.
    this.#contactAt = this.#openedAt - Math.max(0, clock.now() - kept.contactAt)
    this.#writtenAt = this.#contactAt
    this.#ended = new Set(kept.ended)
    const round = (signal: AbortSignal) => this.#round(signal)
    const nextRoundMs = () => this.#nextRoundMs()
    const reconciler = {
      name: 'fence',
      get everyMs() {
        return nextRoundMs()
      },
      round,
    }
    this.#running = new RunningReconciler(reconciler, options.clock, options.log)
  }

  static async open(options: FenceOptions): Promise<Fence> {
    const text = await readFile(options.file, 'utf8').catch(ifAbsent(undefined))
    const none: Kept = { contactAt: options.clock.now(), fenceAfterMs: 0, ended: [] }
    return new Fence(options, text === undefined ? none : (JSON.parse(text) as Kept))
  }

  /** Whether the fence stopped the guest, which has not run since. */
  hasEnded(id: InstanceId): boolean {
    return this.#ended.has(id)
  }

  /** When the fence last had stopped all guests, in milliseconds since the epoch; 0: it has not since this process began. */
  get stoppedAt(): number {
    return this.#stoppedAt
  }

  /** Throws `unavailable` while nothing may run here. */
  assertOpen(): void {
    if (this.#isDue() || this.#isClosed)
      throw new Failure(
        'unavailable',
        'The cell has had no contact to a gateway for too long, so its fence lets no guest run.',
      )
  }

  /** A gateway was in touch with the cell so long ago. `fenceAfterMs` 0: guests run even without a gateway. */
  async contact(asked: { readonly fenceAfterMs: number; readonly ageMs: number }): Promise<void> {
    const { fenceAfterMs, ageMs } = asked
    this.#contactAt = Math.max(this.#contactAt, this.#options.clock.elapsed() - ageMs)
    const isNew = fenceAfterMs !== this.#kept.fenceAfterMs
    const isOld = this.#contactAt - this.#writtenAt > fenceAfterMs * WRITTEN_AFTER
    if (isNew || isOld) await this.#keep({ fenceAfterMs })
    if (isNew) this.#running.wake()
    if (this.#isDue() || !this.#isClosed) return
    this.#isClosed = false
    this.#options.log.warn('contact to a gateway is back: guests may run')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#running[Symbol.asyncDispose]()
  }

  #isDue(): boolean {
    const { fenceAfterMs } = this.#kept
    return fenceAfterMs > 0 && this.#options.clock.elapsed() - this.#contactAt > fenceAfterMs
  }

  #isSettled(): boolean {
    const upMs = this.#options.clock.elapsed() - this.#openedAt
    return upMs > Math.min(AFTER_START_MAX_MS, this.#kept.fenceAfterMs)
  }

  /** A contact only puts off when guests are to be stopped. */
  #nextRoundMs(): number {
    if (this.#isClosed || this.#ended.size > 0) return POLL_MS
    const { fenceAfterMs } = this.#kept
    if (fenceAfterMs === 0) return IDLE_MS
    const settledAt = this.#openedAt + Math.min(AFTER_START_MAX_MS, fenceAfterMs)
    const dueAt = Math.max(this.#contactAt + fenceAfterMs, settledAt)
    return Math.max(POLL_MS, dueAt - this.#options.clock.elapsed())
  }

  async #round(signal: AbortSignal): Promise<ReconcilerReport> {
    if (this.#isDue() && this.#isSettled() && !this.#isClosed) {
      this.#isClosed = true
      this.#hasStopped = false
      this.#options.log.error('no contact to a gateway: guests are stopped')
    }
    if (this.#isClosed) await this.#stopAll(signal)
    else if (this.#ended.size > 0) await this.#forgetRunning(signal)
    return { ended: this.#ended.size }
  }

  async #stopAll(signal: AbortSignal): Promise<void> {
    const { driver } = this.#options
    const running = (await driver.list(deadline(signal))).filter(runs).map(({ id }) => id)
    if (running.length === 0 && !this.#hasStopped) {
      this.#hasStopped = true
      this.#stoppedAt = this.#options.clock.now()
    }
    if (running.length === 0) return
    for (const id of running) this.#ended.add(id)
    await this.#keep({})
    await Promise.all(running.map((id) => driver.stop(id, 0, deadline(signal))))
  }

  async #forgetRunning(signal: AbortSignal): Promise<void> {
    const guests = await this.#options.driver.list(deadline(signal))
    const off = new Set(guests.filter((guest) => !runs(guest)).map(({ id }) => id))
    const gone = [...this.#ended].filter((id) => !off.has(id))
    if (gone.length === 0) return
    for (const id of gone) this.#ended.delete(id)
    await this.#keep({})
  }

  /** One write after the other: contacts come from every process of the cell. */
  #keep(change: Pick<Partial<Kept>, 'fenceAfterMs'>): Promise<void> {
    const written = this.#writing.then(() => this.#write(change))
    this.#writing = written.catch(() => {})
    return written
  }

  async #write(change: Pick<Partial<Kept>, 'fenceAfterMs'>): Promise<void> {
    const { file, clock } = this.#options
    const writtenAt = this.#contactAt
    const contactAt = Math.round(clock.now() - (clock.elapsed() - writtenAt))
    const kept = { ...this.#kept, ...change, contactAt, ended: [...this.#ended] }
    await writeFile(`${file}.new`, JSON.stringify(kept), { flush: true })
    await rename(`${file}.new`, file)
    this.#kept = kept
    this.#writtenAt = writtenAt
  }
}

function deadline(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(BACKEND_TIMEOUT_MS)])
}

function runs({ powerState }: { readonly powerState: string }): boolean {
  return powerState === 'running' || powerState === 'paused'
}
