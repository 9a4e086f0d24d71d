import { randomUUID } from 'node:crypto'
import type { Clock } from '#common/clock.ts'
import type { Transactional } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { errorFields, type Logger } from '#common/log.ts'
import type { Reconciler } from '#common/reconciler.ts'
import {
  type AuditRecord,
  insertAuditRecords,
  type NewAuditRecord,
} from '../../db/audit-records.ts'
import { AuditJournal, type JournalFile } from './audit-journal.ts'

export interface AuditTrailOptions {
  readonly db: Transactional
  readonly clock: Clock
  readonly log: Logger
  /** Where records are kept until the database has them; gateways may share it. */
  readonly directory: string
}

/** Records that no request waits for are gathered for this long: many then share a commit. */
const GATHER_MS = 100
/** With more records than this unwritten, every request waits. */
const BEHIND = 2_000
/** While there is something of this process to write. */
const RETRY_EVERY_MS = 1_000
/** What others left is looked for. */
const POLL_MS = 10_000

interface Batch {
  readonly records: NewAuditRecord[]
  readonly file: JournalFile
  readonly hurry: AbortController
  /** False where the file lacks some of the records. */
  isWhole: boolean
  /** True once all records would outlive this machine. */
  written: Promise<boolean>
}

/**
 * Writes in batches which user requested which change. A record is on disk before its request is answered, and stays
 * there until the database has it, even if the process or the database fails. Disposing it writes the remaining
 * records.
 */
export class AuditTrail implements AsyncDisposable {
  readonly #options: AuditTrailOptions
  readonly #journal: AuditJournal
  #open: Batch | undefined
  #onLeft: () => void = () => {}
  #last: Promise<boolean> = Promise.resolve(true)

  constructor(options: AuditTrailOptions) {
    this.#options = options
    this.#journal = new AuditJournal(options.directory)
  }

  /**
   * Resolves once the record outlives this process; when `isUrgent`, once the database has it, or a disk for good.
   * Throws `unavailable` when the record can be kept nowhere.
   */
  async record(entry: AuditRecord, isUrgent: boolean): Promise<void> {
    const batch = (this.#open ??= this.#begin())
    const record = { ...entry, recordId: randomUUID() }
    batch.records.push(record)
    const isKept = this.#append(batch, record)
    if (isKept && !isUrgent && batch.records.length < BEHIND) return
    batch.hurry.abort()
    if (await batch.written) return
    throw new Failure(
      'unavailable',
      'The request was carried out, but could not be put on the audit record: neither the database nor the disk takes it.',
    )
  }

  /** Calls `listener` whenever records are left for the reconciler. */
  whenLeft(listener: () => void): void {
    this.#onLeft = listener
  }

  /** Writes to the database what it did not take before, or what a gateway that was killed had gathered. */
  reconciler(): Reconciler {
    const { db, clock, log } = this.#options
    const journal = this.#journal
    return {
      name: 'audit record',
      get everyMs() {
        return journal.hasLeft ? RETRY_EVERY_MS : POLL_MS
      },
      round: async (signal) => {
        const names = await journal.leftFiles(clock.elapsed())
        for (const name of names) {
          signal.throwIfAborted()
          await insertAuditRecords(db, await journal.read(name))
          await journal.remove(name)
          log.info({ file: name }, 'audit records written late')
        }
        return { files: names.length }
      },
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#open?.hurry.abort()
    await this.#last
  }

  #begin(): Batch {
    const batch: Batch = {
      records: [],
      file: this.#journal.begin(),
      hurry: new AbortController(),
      isWhole: true,
      written: this.#last,
    }
    batch.written = this.#last = this.#write(batch, this.#last)
    return batch
  }

  #append(batch: Batch, record: NewAuditRecord): boolean {
    try {
      batch.file.append(record)
      return true
    } catch (error) {
      batch.isWhole = false
      this.#options.log.error({ record, ...errorFields(error) }, 'audit record not on disk')
      return false
    }
  }

  async #write(batch: Batch, before: Promise<unknown>): Promise<boolean> {
    const { db, clock, log } = this.#options
    const { records, file, hurry } = batch
    await before
    await clock.sleep(GATHER_MS, hurry.signal).catch(() => {})
    this.#open = undefined
    try {
      await insertAuditRecords(db, records)
    } catch (error) {
      log.warn({ records: records.length, ...errorFields(error) }, 'audit records not written yet')
      return (await this.#leave(file)) && batch.isWhole
    }
    await file.remove().catch((error: unknown) => {
      log.warn(errorFields(error), 'audit records left on disk that the database has')
    })
    return true
  }

  async #leave(file: JournalFile): Promise<boolean> {
    try {
      await file.leave()
      this.#onLeft()
      return true
    } catch (error) {
      this.#options.log.error(
        errorFields(error),
        'audit records neither in the database nor on disk',
      )
      return false
    }
  }
}
