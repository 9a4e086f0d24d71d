import { randomUUID } from 'node:crypto'
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { mkdir, open, readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { NewAuditRecord } from '../../db/audit-records.ts'

const SUFFIX = '.audit'
/** Longer than a process goes without adding to a file: one that stays the same belongs to a process that has ended. */
const ABANDONED_AFTER_MS = 60_000

/** The file of another process at the time of its last observed change. */
interface Seen {
  readonly sizeBytes: number
  /** By a clock that is never set: the time in the directory is that of whichever machine wrote it. */
  readonly sinceMs: number
}

/** The records of one batch on disk. */
export interface JournalFile {
  /** Afterwards the record outlives this process. Throws what the file system says. */
  append(record: NewAuditRecord): void
  /** Afterwards nothing is added, everything outlives the machine, and the file is among those left. */
  leave(): Promise<void>
  /** Afterwards the file is gone. */
  remove(): Promise<void>
}

/** A directory with one file per batch of audit records that the database does not have yet. Gateways may share it. */
export class AuditJournal {
  readonly #directory: string
  /** Files that this process still adds to. */
  readonly #open = new Set<string>()
  /** Files that this process does not add to any more. */
  readonly #left = new Set<string>()
  readonly #seen = new Map<string, Seen>()

  constructor(directory: string) {
    this.#directory = directory
  }

  /** True while there are files that this process left. */
  get hasLeft(): boolean {
    return this.#left.size > 0
  }

  begin(): JournalFile {
    const name = `${randomUUID()}${SUFFIX}`
    const path = join(this.#directory, name)
    this.#open.add(name)
    let descriptor: number | undefined
    const close = () => {
      if (descriptor !== undefined) closeSync(descriptor)
      this.#open.delete(name)
    }
    return {
      append: (record) => {
        if (descriptor === undefined) {
          mkdirSync(this.#directory, { recursive: true, mode: 0o700 })
          descriptor = openSync(path, 'ax', 0o600)
        }
        writeSync(descriptor, `${JSON.stringify(record)}\n`)
      },
      leave: async () => {
        close()
        if (descriptor === undefined) return
        this.#left.add(name)
        await using file = await open(path, 'r')
        await file.sync()
      },
      remove: async () => {
        close()
        await rm(path, { force: true })
      },
    }
  }

  /**
   * The files whose records no process is about to write to the database: left by this process, or by one that ended.
   * `elapsedMs` is a time of `Clock.elapsed`.
   */
  async leftFiles(elapsedMs: number): Promise<readonly string[]> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 })
    const left: string[] = []
    const names = await readdir(this.#directory)
    for (const name of this.#seen.keys()) if (!names.includes(name)) this.#seen.delete(name)
    for (const name of names) {
      if (!name.endsWith(SUFFIX) || this.#open.has(name)) continue
      if (this.#left.has(name) || (await this.#isAbandoned(name, elapsedMs))) left.push(name)
    }
    return left
  }

  /** What a file holds. A last line that its process did not finish was not answered, and is left out. */
  async read(name: string): Promise<readonly NewAuditRecord[]> {
    const text = await readFile(join(this.#directory, name), 'utf8').catch(absent)
    const lines = text.split('\n').slice(0, -1)
    return lines.map((line) => {
      const record = JSON.parse(line) as NewAuditRecord
      return { ...record, at: new Date(record.at) }
    })
  }

  async remove(name: string): Promise<void> {
    await rm(join(this.#directory, name), { force: true })
    this.#left.delete(name)
  }

  async #isAbandoned(name: string, elapsedMs: number): Promise<boolean> {
    const { size } = await stat(join(this.#directory, name)).catch(() => ({ size: -1 }))
    const seen = this.#seen.get(name)
    if (seen?.sizeBytes !== size) this.#seen.set(name, { sizeBytes: size, sinceMs: elapsedMs })
    return seen?.sizeBytes === size && elapsedMs - seen.sinceMs > ABANDONED_AFTER_MS
  }
}

/** Another gateway has written it meanwhile. */
function absent(error: NodeJS.ErrnoException): string {
  if (error.code === 'ENOENT') return ''
  throw error
}
