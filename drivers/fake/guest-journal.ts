import {
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import type { InstanceId } from '#common/ids.ts'
import type { FakeGuest } from './guest.ts'

type Entry = { readonly put: FakeGuest } | { readonly gone: InstanceId }

/** Lines beyond the guests there are, before the file is rewritten. */
const DEAD_LINES_MAX = 10_000

/**
 * The guests of a fake host, kept over restarts: one line per change, appended before the change is answered. A
 * process that dies loses nothing; a machine that dies may lose the newest lines, as guests in memory would be.
 */
export class GuestJournal implements Disposable {
  readonly #path: string
  #file: number
  #lines = 0

  private constructor(path: string, guests: ReadonlyMap<InstanceId, FakeGuest>) {
    this.#path = path
    this.#file = this.#rewrite(guests)
  }

  /** Opens the journal in a folder and returns it with the guests it holds. */
  static open(folder: string): { journal: GuestJournal; guests: Map<InstanceId, FakeGuest> } {
    mkdirSync(folder, { recursive: true })
    const path = join(folder, 'guests.jsonl')
    const guests = readGuests(path)
    return { journal: new GuestJournal(path, guests), guests }
  }

  /** Afterwards the change is in the file. `guests` is the state after it. */
  append(entry: Entry, guests: ReadonlyMap<InstanceId, FakeGuest>): void {
    writeSync(this.#file, `${JSON.stringify(entry)}\n`)
    this.#lines += 1
    if (this.#lines <= guests.size + DEAD_LINES_MAX) return
    closeSync(this.#file)
    this.#file = this.#rewrite(guests)
  }

  [Symbol.dispose](): void {
    closeSync(this.#file)
  }

  #rewrite(guests: ReadonlyMap<InstanceId, FakeGuest>): number {
    const partial = `${this.#path}.part`
    const lines = Array.from(guests.values(), (put) => `${JSON.stringify({ put })}\n`)
    writeFileSync(partial, lines.join(''))
    renameSync(partial, this.#path)
    this.#lines = guests.size
    return openSync(this.#path, 'a')
  }
}

function readGuests(path: string): Map<InstanceId, FakeGuest> {
  const guests = new Map<InstanceId, FakeGuest>()
  for (const line of readLines(path)) {
    const entry = parseEntry(line)
    if (entry === undefined) break
    if ('put' in entry) guests.set(entry.put.id, entry.put)
    else guests.delete(entry.gone)
  }
  return guests
}

function readLines(path: string): readonly string[] {
  try {
    return readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/** Undefined for a last line that a crash cut off. */
function parseEntry(line: string): Entry | undefined {
  try {
    return JSON.parse(line) as Entry
  } catch {
    return undefined
  }
}
