import type { Executor } from './database.ts'

interface Line<T> {
  /** Of those who came while a read was under way, or in this turn of the event loop. */
  next: Promise<T> | undefined
  underWay: Promise<unknown>
}

/**
 * Equal reads that begin in one turn of the event loop, or while one runs, share the next read. So each gets data read
 * after it began, and any number at once cause two reads.
 */
export class SharedReads<T> {
  readonly #lines = new WeakMap<Executor, Map<string, Line<T>>>()

  /** What `work` reads; `name` says all that it depends on. All that share a read share what it returns. */
  read(db: Executor, name: string, work: () => Promise<T>): Promise<T> {
    const lines = this.#linesOf(db)
    const line = lines.get(name) ?? { next: undefined, underWay: endOfTurn() }
    lines.set(name, line)
    line.next ??= this.#after(line, work, () => lines.delete(name))
    return line.next
  }

  async #after(line: Line<T>, work: () => Promise<T>, onIdle: () => void): Promise<T> {
    await line.underWay
    const reading = work()
    line.next = undefined
    line.underWay = reading.then(
      () => undefined,
      () => undefined,
    )
    void line.underWay.then(() => {
      if (line.next === undefined) onIdle()
    })
    return reading
  }

  #linesOf(db: Executor): Map<string, Line<T>> {
    const known = this.#lines.get(db) ?? new Map<string, Line<T>>()
    this.#lines.set(db, known)
    return known
  }
}

function endOfTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
