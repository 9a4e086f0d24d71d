import { sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { waitFor } from '#common/wait-for.ts'

const LIMIT_MS = 30_000

/** Begins to act, and resolves with the unfinished act once a transaction in this database waits for a lock of another. */
export async function actUntilWaiting<T>(
  db: Executor,
  act: () => Promise<T>,
): Promise<{ readonly acted: Promise<T> }> {
  // The server keeps the list of its transactions for a tenth of a second: what it still shows of a wait that is over
  // would be taken for this one.
  await waitFor('earlier waits for locks to end', async () => !(await hasLockWait(db)), LIMIT_MS)
  const acted = act()
  await waitFor('a transaction to wait for a lock', () => hasLockWait(db), LIMIT_MS)
  return { acted }
}

async function hasLockWait(db: Executor): Promise<boolean> {
  const [rows] = await db.orm.execute(sql`
    select count(*) as n from information_schema.innodb_trx t
    join information_schema.processlist p on p.id = t.trx_mysql_thread_id
    where p.db = database() and t.trx_state = 'LOCK WAIT'`)
  return Number((rows as unknown as readonly { n: unknown }[])[0]?.n) > 0
}
