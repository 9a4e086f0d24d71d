import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { type AuditFilter, listAuditRecords, type NumberedRecord } from '../../db/audit-records.ts'

export interface AuditPage {
  readonly records: readonly NumberedRecord[]
  /** Where the next page begins; null when this is the last. */
  readonly next: string | null
}

/** The newest first. Throws `invalid` for a cursor that no page gave. */
export async function auditPage(
  db: Executor,
  filter: AuditFilter,
  limit: number,
  cursor: string = String(Number.MAX_SAFE_INTEGER),
): Promise<AuditPage> {
  if (!/^\d{1,16}$/.test(cursor))
    throw new Failure('invalid', `Invalid cursor '${cursor}': take it from the page before.`)
  const found = await listAuditRecords(db, filter, Number(cursor), limit + 1)
  const records = found.slice(0, limit)
  return { records, next: found.length > limit ? String(records.at(-1)?.n) : null }
}
