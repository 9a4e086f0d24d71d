import type { Clock } from '#common/clock.ts'
import type { InstanceId } from '#common/ids.ts'
import { DurableLines } from './durable-lines.ts'

interface Known {
  readonly attempt: number
  /** Set once this attempt has been destroyed here: it may not come back. */
  readonly isOver: boolean
  readonly at: number
}

export interface AttemptsOptions {
  readonly file: string
  readonly clock: Clock
  /** Finished attempts are forgotten after this; must outlive every message and every deleted server's row. */
  readonly retentionMs: number
  /** A file of as many lines, and twice as many as are worth keeping, is rewritten. */
  readonly compactAfterLines?: number
}

const COMPACT_AFTER_LINES = 50_000

/**
 * The highest attempt this host has acted on, per server, on disk before it acts: so that a message that comes late,
 * or a compute that wakes after a long silence, cannot start what has been built or destroyed elsewhere since.
 */
export class Attempts implements AsyncDisposable {
  readonly #clock: Clock
  readonly #known: Map<InstanceId, Known>
  readonly #lines: DurableLines

  private constructor(clock: Clock, known: Map<InstanceId, Known>, lines: DurableLines) {
    this.#clock = clock
    this.#known = known
    this.#lines = lines
  }

  static async open({
    file,
    clock,
    retentionMs,
    compactAfterLines = COMPACT_AFTER_LINES,
  }: AttemptsOptions): Promise<Attempts> {
    const known = new Map<InstanceId, Known>()
    const kept = () => {
      const oldest = clock.now() - retentionMs
      for (const [id, { isOver, at }] of known) if (isOver && at < oldest) known.delete(id)
      return [...known].map(([id, entry]) => line(id, entry))
    }
    const lines = await DurableLines.open(
      { file, kept, compactAfterLines, isSynced: true },
      (text) => {
        const entry = parseLine(text)
        if (entry !== undefined) known.set(entry.id, entry)
      },
    )
    return new Attempts(clock, known, lines)
  }

  /** The newer attempt that forbids acting on this one, or this one once it is over; undefined when it may act. */
  refusing(id: InstanceId, attempt: number): number | undefined {
    const known = this.#known.get(id)
    const isOver = known !== undefined && known.attempt === attempt && known.isOver
    return known !== undefined && (known.attempt > attempt || isOver) ? known.attempt : undefined
  }

  /** The same; when the attempt may act, that is on disk afterwards. */
  async begin(id: InstanceId, attempt: number): Promise<number | undefined> {
    const refusing = this.refusing(id, attempt)
    if (refusing === undefined && this.#known.get(id)?.attempt !== attempt)
      await this.#record(id, attempt, false)
    return refusing
  }

  /** True when this is the attempt that lives here, and none has come after it. */
  isCurrent(id: InstanceId, attempt: number): boolean {
    const known = this.#known.get(id)
    return known?.attempt === attempt && !known.isOver
  }

  /** Afterwards this attempt and all older ones are refused. A newer one that is known stays as it is. */
  async finish(id: InstanceId, attempt: number): Promise<void> {
    const known = this.#known.get(id)
    if (
      known !== undefined &&
      (known.attempt > attempt || (known.attempt === attempt && known.isOver))
    )
      return
    await this.#record(id, attempt, true)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#lines[Symbol.asyncDispose]()
  }

  /** Only entries on disk count: an attempt that could not be written has not begun. */
  async #record(id: InstanceId, attempt: number, isOver: boolean): Promise<void> {
    const known = { attempt, isOver, at: this.#clock.now() }
    await this.#lines.append(line(id, known), () => this.#known.set(id, known))
  }
}

function line(id: InstanceId, { attempt, isOver, at }: Known): string {
  return `${id} ${attempt} ${isOver ? 'over' : 'begun'} ${at}`
}

/** A torn last line, from a crash during the write, is ignored: no work was begun because of it. */
function parseLine(text: string): (Known & { readonly id: InstanceId }) | undefined {
  const match = /^([0-9a-f-]{36}) (\d+) (over|begun) (\d+)$/.exec(text)
  if (match === null) return undefined
  const [, id, attempt, word, at] = match
  return { id: id as InstanceId, attempt: Number(attempt), isOver: word === 'over', at: Number(at) }
}
