import type { Clock } from '#common/clock.ts'
import type { Transactional } from '#common/db/database.ts'
import { errorFields, type Logger } from '#common/log.ts'
import { type AuditRecord, insertAuditRecords } from '../../db/audit-records.ts'

export interface AuditTrailOptions {
  readonly db: Transactional
  readonly clock: Clock
  readonly log: Logger
}

/** Records that nobody waits for gather for so long: many then share a commit. */
const GATHER_MS = 100
/** With more than this not written yet, everybody waits. */
const BEHIND = 2_000

interface Batch {
  readonly records: AuditRecord[]
  readonly hurry: AbortController
  written: Promise<void>
}

/** Writes who asked for which change, in batches. Disposing it writes what is left. */
export class AuditTrail implements AsyncDisposable {
  readonly #options: AuditTrailOptions
  #open: Batch | undefined
  #last: Promise<void> = Promise.resolve()

  constructor(options: AuditTrailOptions) {
    this.#options = options
  }

  /** Resolves once it is on record when `isUrgent`, else at once; what a killed process had gathered by then is lost. */
  async record(entry: AuditRecord, isUrgent: boolean): Promise<void> {
    const batch = (this.#open ??= this.#begin())
    batch.records.push(entry)
    if (!isUrgent && batch.records.length < BEHIND) return
    batch.hurry.abort()
    await batch.written
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#open?.hurry.abort()
    await this.#last
  }

  #begin(): Batch {
    const batch: Batch = { records: [], hurry: new AbortController(), written: this.#last }
    batch.written = this.#last = this.#write(batch, this.#last)
    return batch
  }

  async #write(batch: Batch, before: Promise<void>): Promise<void> {
    const { db, clock, log } = this.#options
    await before
    await clock.sleep(GATHER_MS, batch.hurry.signal).catch(() => {})
    this.#open = undefined
    try {
      await insertAuditRecords(db, batch.records)
    } catch (error) {
      // The log is the record of last resort.
      log.error({ records: batch.records, ...errorFields(error) }, 'audit records not written')
    }
  }
}
