import { type FileHandle, open, readFile, rename } from 'node:fs/promises'
import type { Clock } from '#common/clock.ts'
import type { InstanceId } from '#common/ids.ts'
import { ifAbsent } from '#common/if-absent.ts'

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
  /** A file of as many lines, and twice as many as are worth keeping, is written anew. */
  readonly compactAfterLines?: number
}

const COMPACT_AFTER_LINES = 50_000

/**
 * The highest attempt this host has acted on, per server, on disk before it acts: so that a message that comes late,
 * or a compute that wakes after a long silence, cannot start what has been built or destroyed elsewhere since.
 */
export class Attempts implements AsyncDisposable {
  readonly #options: AttemptsOptions
  readonly #known: Map<InstanceId, Known>
  #file: FileHandle
  #lines: number
  #compactAt: number
  #unwritten: [InstanceId, Known][] = []
  /** The file may end in half a line. */
  #isTorn: boolean
  #writing: Promise<void> = Promise.resolve()
  #next: Promise<void> | undefined

  private constructor(
    options: AttemptsOptions,
    known: Map<InstanceId, Known>,
    file: FileHandle,
    lines: readonly string[],
  ) {
    this.#options = options
    this.#known = known
    this.#file = file
    this.#lines = lines.length
    this.#isTorn = lines.at(-1) !== ''
    this.#compactAt = options.compactAfterLines ?? COMPACT_AFTER_LINES
  }

  static async open(options: AttemptsOptions): Promise<Attempts> {
    const text = await readFile(options.file, 'utf8').catch(ifAbsent(''))
    const known = new Map<InstanceId, Known>()
    const lines = text.split('\n')
    for (const line of lines) {
      const entry = parseLine(line)
      if (entry !== undefined) known.set(entry.id, entry)
    }
    const attempts = new Attempts(options, known, await open(options.file, 'a'), lines)
    await attempts.#compactIfLong()
    return attempts
  }

  /** The newer attempt that forbids acting on this one; undefined when it may act, which then is on disk. */
  async begin(id: InstanceId, attempt: number): Promise<number | undefined> {
    const known = this.#known.get(id)
    const isOver = known !== undefined && known.attempt === attempt && known.isOver
    if (known !== undefined && (known.attempt > attempt || isOver)) return known.attempt
    if (known?.attempt !== attempt) await this.#record(id, attempt, false)
    return undefined
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

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#flushed()
    await this.#file.close()
  }

  async #record(id: InstanceId, attempt: number, isOver: boolean): Promise<void> {
    this.#unwritten.push([id, { attempt, isOver, at: this.#options.clock.now() }])
    await this.#flushed()
  }

  /** One fsync for all that wait: whoever comes while one runs shares the next, whatever becomes of this one. */
  #flushed(): Promise<void> {
    this.#next ??= this.#writing
      .catch(() => {})
      .then(() => {
        this.#next = undefined
        this.#writing = this.#write()
        return this.#writing
      })
    return this.#next
  }

  /** Known is only what is on disk: whoever could not write has not begun. */
  async #write(): Promise<void> {
    const entries = this.#unwritten
    if (entries.length === 0) return
    this.#unwritten = []
    const start = this.#isTorn ? '\n' : ''
    this.#isTorn = true
    await this.#file.appendFile(start + entries.map(([id, known]) => line(id, known)).join(''))
    await this.#file.datasync()
    this.#isTorn = false
    for (const [id, known] of entries) this.#known.set(id, known)
    this.#lines += entries.length
    await this.#compactIfLong()
  }

  async #compactIfLong(): Promise<void> {
    if (this.#lines < this.#compactAt) return
    const { clock, compactAfterLines = COMPACT_AFTER_LINES, file, retentionMs } = this.#options
    const oldest = clock.now() - retentionMs
    for (const [id, { isOver, at }] of this.#known)
      if (isOver && at < oldest) this.#known.delete(id)
    const temporary = `${file}.new`
    const compacted = await open(temporary, 'w')
    await compacted.writeFile([...this.#known].map(([id, entry]) => line(id, entry)).join(''))
    await compacted.sync()
    await rename(temporary, file)
    await this.#file.close()
    this.#file = compacted
    this.#lines = this.#known.size
    this.#compactAt = Math.max(compactAfterLines, 2 * this.#lines)
  }
}

function line(id: InstanceId, { attempt, isOver, at }: Known): string {
  return `${id} ${attempt} ${isOver ? 'over' : 'begun'} ${at}\n`
}

/** A torn last line, from a crash while writing, is as good as none: nothing was done on its strength. */
function parseLine(text: string): (Known & { readonly id: InstanceId }) | undefined {
  const match = /^([0-9a-f-]{36}) (\d+) (over|begun) (\d+)$/.exec(text)
  if (match === null) return undefined
  const [, id, attempt, word, at] = match
  return { id: id as InstanceId, attempt: Number(attempt), isOver: word === 'over', at: Number(at) }
}
