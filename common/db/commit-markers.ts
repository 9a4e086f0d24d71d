import { eq, lt, sql } from 'drizzle-orm'
import { boolean, index, mysqlTable } from 'drizzle-orm/mysql-core'
import { newId } from '../ids.ts'
import { time, uuid } from './columns.ts'
import type { Bound } from './compound.ts'
import type { Executor, HasCommitted, Transactional } from './database.ts'
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
    /** False for a row that was made by looking for the mark: the transaction will never commit. */
    isCommit: boolean('is_commit').notNull(),
    createdAt: time('created_at').notNull(),
  },
  (t) => [index('commit_markers_created_at').on(t.createdAt)],
)

const INSERT = statement(
  builder.insert(commitMarkers).values({
    id: sql.placeholder('id'),
    isCommit: sql.placeholder('isCommit'),
    createdAt: sql`now(3)`,
  }),
)
const IS_COMMIT = statement(
  builder
    .select({ isCommit: commitMarkers.isCommit })
    .from(commitMarkers)
    .where(eq(commitMarkers.id, sql.placeholder('id'))),
)

/** The mark of one transaction. */
export interface CommitMarker {
  /** Runs with the commit. */
  readonly insert: Bound
  /** Afterwards the transaction has committed, or never will. */
  readonly hasCommitted: HasCommitted
}

/** A row that a transaction inserts, so that a later look at the database tells whether it committed. */
export function newCommitMarker(): CommitMarker {
  const id = newId()
  return {
    insert: { text: INSERT.text, values: INSERT.bind({ id, isCommit: true }) },
    hasCommitted: (db) => isCommitted(db, id),
  }
}

/** Takes the marker's place where it is free: a transaction that the database still works on waits for this row, or this one for it. */
function isCommitted(db: Transactional, id: string): Promise<boolean> {
  return db.transaction(async (tx) => {
    // It may be run again: then it finds its own row.
    tx.shownBy(async () => false)
    try {
      await tx.run(INSERT, { id, isCommit: false })
      return false
    } catch (error) {
      if (!isDuplicate(error)) throw error
      const [row] = await tx.rows<{ readonly is_commit: number }>(IS_COMMIT, { id })
      return row?.is_commit === 1
    }
  })
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
