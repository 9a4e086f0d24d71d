import { sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'

/** True while a transaction in this database waits for a lock of another. */
export async function hasLockWait(db: Executor): Promise<boolean> {
  const [rows] = await db.orm.execute(sql`
    select count(*) as n from information_schema.innodb_trx t
    join information_schema.processlist p on p.id = t.trx_mysql_thread_id
    where p.db = database() and t.trx_state = 'LOCK WAIT'`)
  return Number((rows as unknown as readonly { n: unknown }[])[0]?.n) > 0
}
