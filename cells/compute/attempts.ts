import { type FileHandle, open, readFile, rename } from 'node:fs/promises'
import type { Clock } from '#common/clock.ts'
import type { InstanceId } from '#common/ids.ts'

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
  #unwritten: string[] = []
  #writing: Promise<void> = Promise.resolve()
  #next: Promise<void> | undefined

  private constructor(
    options: AttemptsOptions,
    known: Map<InstanceId, Known>,
    file: FileHandle,
    lines: number,
  ) {
    this.#options = options
    this.#known = known
    this.#file = file
    this.#lines = lines
  }

  static async open(options: AttemptsOptions): Promise<Attempts> {
    const text = await readFile(options.file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return ''
      throw error
    })
    const known = new Map<InstanceId, Known>()
    const lines = text.split('\n')
    for (const line of lines) {
      const entry = parseLine(line)
      if (entry !== undefined) known.set(entry.id, entry)
    }
    const attempts = new Attempts(options, known, await open(options.file, 'a'), lines.length)
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
    const entry = { attempt, isOver, at: this.#options.clock.now() }
    this.#known.set(id, entry)
    this.#unwritten.push(line(id, entry))
    await this.#flushed()
  }

  /** One fsync for all that wait: whoever comes while one runs shares the next. */
  #flushed(): Promise<void> {
    this.#next ??= this.#writing.then(async () => {
      this.#next = undefined
      this.#writing = this.#write()
      await this.#writing
    })
    return this.#next
  }

  async #write(): Promise<void> {
    const lines = this.#unwritten
    if (lines.length === 0) return
    this.#unwritten = []
    await this.#file.appendFile(lines.join(''))
    await this.#file.datasync()
    this.#lines += lines.length
  }

  async #compactIfLong(): Promise<void> {
    if (this.#lines < COMPACT_AFTER_LINES) return
    const oldest = this.#options.clock.now() - this.#options.retentionMs
    for (const [id, { isOver, at }] of this.#known)
      if (isOver && at < oldest) this.#known.delete(id)
    const temporary = `${this.#options.file}.new`
    const file = await open(temporary, 'w')
    await file.writeFile([...this.#known].map(([id, entry]) => line(id, entry)).join(''))
    await file.sync()
    await rename(temporary, this.#options.file)
    await this.#file.close()
    this.#file = file
    this.#lines = this.#known.size
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
