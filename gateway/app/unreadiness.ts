import type { Database } from '#common/db/database.ts'
import { errorChain } from '#common/errors.ts'
import type { Logger } from '#common/log.ts'
import { withDeadline } from '#common/with-deadline.ts'
import { databaseReadiness } from '../db/readiness.ts'

const READY_WAIT_MS = 2_000

/**
 * Why this gateway cannot serve, or undefined when it can. It is ready without any cell: reads and most intents
 * need only the database.
 */
export async function unreadiness(db: Database, log: Logger): Promise<string | undefined> {
  try {
    return await withDeadline(READY_WAIT_MS, databaseReadiness(db))
  } catch (error) {
    log.warn({ error: errorChain(error) }, 'database not ready')
    return 'the database does not answer'
  }
}
