import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

interface Entry {
  readonly sizeBytes: number
}

/**
 * The files of a folder whose names match, the longest unused first, and their bytes: the folder is read once, so that what
 * a file costs does not depend on how many there are.
 */
export class ImageFiles {
  readonly #folder: string
  readonly #names: RegExp
  /** In the order of their last use. */
  readonly #entries = new Map<string, Entry>()
  #bytes = 0
  #read: Promise<void> | undefined

  constructor(folder: string, names: RegExp) {
    this.#folder = folder
    this.#names = names
  }

  /** Of all files, as far as they came and went through this object. */
  async bytes(): Promise<number> {
    await this.#once()
    return this.#bytes
  }

  /** The longest unused first. */
  async oldestFirst(): Promise<Iterable<{ readonly name: string; readonly sizeBytes: number }>> {
    await this.#once()
    return [...this.#entries].map(([name, { sizeBytes }]) => ({ name, sizeBytes }))
  }

  /** Afterwards the file is known, as the one that was used last. */
  async used(name: string, sizeBytes: number): Promise<void> {
    await this.#once()
    this.#forget(name)
    this.#entries.set(name, { sizeBytes })
    this.#bytes += sizeBytes
  }

  /** Afterwards the file is not there; who reads it reads on. */
  async drop(name: string): Promise<void> {
    await this.#once()
    this.#forget(name)
    await rm(join(this.#folder, name), { force: true })
  }

  /** Afterwards files that somebody else has removed are not counted any more. */
  async refresh(): Promise<void> {
    await this.#once()
    const before = [...this.#entries]
    const there = new Set(await readdir(this.#folder))
    // One that was used meanwhile is there again.
    for (const [name, entry] of before)
      if (!there.has(name) && this.#entries.get(name) === entry) this.#forget(name)
  }

  #forget(name: string): void {
    this.#bytes -= this.#entries.get(name)?.sizeBytes ?? 0
    this.#entries.delete(name)
  }

  #once(): Promise<void> {
    this.#read ??= this.#readFolder().catch((error: unknown) => {
      this.#read = undefined
      throw error
    })
    return this.#read
  }

  async #readFolder(): Promise<void> {
    const names = (await readdir(this.#folder)).filter((name) => this.#names.test(name))
    const found = await Promise.all(
      names.map(async (name) => {
        // Another caller may have removed it.
        const file = await stat(join(this.#folder, name)).catch(() => undefined)
        return file === undefined ? [] : [{ name, sizeBytes: file.size, mtimeMs: file.mtimeMs }]
      }),
    )
    for (const { name, sizeBytes } of found.flat().toSorted((a, b) => a.mtimeMs - b.mtimeMs)) {
      this.#entries.set(name, { sizeBytes })
      this.#bytes += sizeBytes
    }
  }
}
