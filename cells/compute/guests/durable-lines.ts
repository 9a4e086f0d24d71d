import { type FileHandle, open, readFile, rename } from 'node:fs/promises'
import { ifAbsent } from '#common/if-absent.ts'

export interface DurableLinesOptions {
  readonly file: string
  /**
   * The lines worth keeping, once the file has as many lines as `compactAfterLines`, and twice as many as were kept
   * last.
   */
  readonly kept: () => readonly string[]
  readonly compactAfterLines: number
  /** False: lines outlive this process at once, and the machine a little later. */
  readonly isSynced: boolean
}

interface Unwritten {
  readonly line: string
  readonly written: () => void
}

/** A file of lines that lines are appended to, and that is rewritten without old lines when it gets long. Disposing the object writes the lines still in memory. */
export class DurableLines implements AsyncDisposable {
  readonly #options: DurableLinesOptions
  #file: FileHandle
  #lines: number
  #compactAt: number
  #unwritten: Unwritten[] = []
  /** The file may end in half a line. */
  #isTorn: boolean
  #writing: Promise<void> = Promise.resolve()
  #next: Promise<void> | undefined

  private constructor(options: DurableLinesOptions, file: FileHandle, lines: readonly string[]) {
    this.#options = options
    this.#file = file
    this.#lines = lines.length
    this.#isTorn = lines.at(-1) !== ''
    this.#compactAt = options.compactAfterLines
  }

  /** `read` gets every line there is, the last of which a crash may have torn. */
  static async open(
    options: DurableLinesOptions,
    read: (line: string) => void,
  ): Promise<DurableLines> {
    const text = await readFile(options.file, 'utf8').catch(ifAbsent(''))
    const all = text.split('\n')
    for (const line of all) read(line)
    const lines = new DurableLines(options, await open(options.file, 'a'), all)
    await lines.#compactIfLong()
    return lines
  }

  /** Resolves once the line outlives this process, and the machine where lines are synced, after `written` was called. */
  async append(line: string, written: () => void): Promise<void> {
    this.#unwritten.push({ line, written })
    await this.#flushed()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#flushed()
    await this.#file.close()
  }

  /** One fsync for all waiting lines: a line that arrives during an fsync shares the next one, even if this one fails. */
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

  async #write(): Promise<void> {
    const entries = this.#unwritten
    if (entries.length === 0) return
    this.#unwritten = []
    const start = this.#isTorn ? '\n' : ''
    this.#isTorn = true
    await this.#file.appendFile(start + entries.map(({ line }) => `${line}\n`).join(''))
    if (this.#options.isSynced) await this.#file.datasync()
    this.#isTorn = false
    for (const { written } of entries) written()
    this.#lines += entries.length
    await this.#compactIfLong()
  }

  async #compactIfLong(): Promise<void> {
    if (this.#lines < this.#compactAt) return
    const { file, kept, compactAfterLines } = this.#options
    const lines = kept()
    const temporary = `${file}.new`
    const compacted = await open(temporary, 'w')
    await compacted.writeFile(lines.map((line) => `${line}\n`).join(''))
    await compacted.sync()
    await rename(temporary, file)
    await this.#file.close()
    this.#file = compacted
    this.#lines = lines.length
    this.#compactAt = Math.max(compactAfterLines, 2 * this.#lines)
  }
}
