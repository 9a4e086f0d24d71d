import { sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { sqlStatement } from '#common/db/statement.ts'
import type { Lease } from '#common/saga/lease.ts'
import { ANY_ADOPTABLE, leaseParams } from '#common/saga/log.ts'

/** One query for all kinds of work, by keys: an idle cell asks hardly anything else. */
const WAITING = sqlStatement(sql`
  select last, exists (select 1 from feed where n = 0) as has_unnumbered, ${ANY_ADOPTABLE} as has_sagas,
    (select count(*) from sagas where state = 'stuck') as stuck_sagas
  from feed_state`)

interface WaitingRow {
  readonly last: number
  readonly has_unnumbered: number
  readonly has_sagas: number
  readonly stuck_sagas: number
}

/** How far the cell's feed is, and what waits for its processes. */
export interface WaitingWork {
  readonly last: number
  /** True: the feed has rows without a number. */
  readonly hasUnnumbered: boolean
  /** True: there may be sagas that the process which asked is to take up. */
  readonly hasSagas: boolean
  /** How many sagas wait for an operator. */
  readonly stuckSagas: number
}

/** For the process with this lease. */
export async function waitingWork(db: Executor, lease: Lease): Promise<WaitingWork> {
  const [row] = await db.rows<WaitingRow>(WAITING, leaseParams(lease))
  if (row === undefined) throw new Error('The feed has no state row')
  return {
    last: row.last,
    hasUnnumbered: row.has_unnumbered === 1,
    hasSagas: row.has_sagas === 1,
    stuckSagas: row.stuck_sagas,
  }
}
