import { lt, sql } from 'drizzle-orm'
import { index, mysqlTable } from 'drizzle-orm/mysql-core'
import { newId } from '../ids.ts'
import { time, uuid } from './columns.ts'
import type { Bound } from './compound.ts'
import type { Executor, HasCommitted } from './database.ts'
import { isDuplicate } from './failures.ts'
import { builder, statement } from './statement.ts'

/**
 * A row for each transaction that has no other row of its own, in the same commit: where the commit was not answered, it
 * shows whether the transaction has committed.
 */
export const commitMarkers = mysqlTable(
  'commit_markers',
  {
    id: uuid('id').primaryKey(),
    createdAt: time('created_at').notNull(),
  },
  (t) => [index('commit_markers_created_at').on(t.createdAt)],
)

const INSERT = statement(
  builder.insert(commitMarkers).values({ id: sql.placeholder('id'), createdAt: sql`now(3)` }),
)

/** The mark of one transaction. */
export interface CommitMarker {
  /** Runs with the commit. */
  readonly insert: Bound
  /** Afterwards the transaction has committed, or never will. */
  readonly hasCommitted: HasCommitted
}

export function newCommitMarker(): CommitMarker {
  const id = newId()
  return {
    insert: { text: INSERT.text, values: INSERT.bind({ id }) },
    hasCommitted: async (db) => {
      try {
        // A transaction that the database still works on waits for this row, or this one for it.
        await db.run(INSERT, { id })
        return false
      } catch (error) {
        if (isDuplicate(error)) return true
        throw error
      }
    },
  }
}

/** Removes at most `rows` marks made before a time. Returns how many. */
export async function purgeCommitMarkers(
  db: Executor,
  before: Date,
  rows: number,
): Promise<number> {
  const [{ affectedRows }] = await db.orm
    .delete(commitMarkers)
    .where(lt(commitMarkers.createdAt, before))
    .limit(rows)
  return affectedRows
}
