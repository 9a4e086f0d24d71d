import { createPool, type Pool } from 'mysql2'
import { beforeAll, expect, test } from 'vitest'
import { freshDatabase } from '#test/env/fresh-database.ts'
import { dropStatementMetadata } from './drop-statement-metadata.ts'

interface Described {
  readonly columnType: number
}

/** The numbers of mysql2 for whole numbers of one to eight bytes: values described so are sent otherwise. */
const WHOLE_NUMBERS = [1, 2, 3, 8, 9]
const QUERY =
  'select n from json_table(json_array(?), "$[*]" columns (n bigint path "$")) v where n = ? limit ?'

let url: string

beforeAll(async () => {
  url = await freshDatabase('forget')
})

/** What a connection of the pool has kept of the query after running it twice, and its second answer. */
async function keptOf(prepare: (pool: Pool) => void) {
  const pool = createPool({ uri: url, connectionLimit: 1 })
  prepare(pool)
  const values = [7, 7, '1']
  try {
    await pool.promise().execute(QUERY, values)
    const [rows] = await pool.promise().execute(QUERY, values)
    const connection = await pool.promise().getConnection()
    const { statement } = (await connection.prepare(QUERY)) as unknown as {
      readonly statement: {
        readonly columns: readonly Described[]
        readonly parameters: readonly Described[]
      }
    }
    connection.release()
    return { rows, columns: statement.columns, parameters: statement.parameters }
  } finally {
    await pool.promise().end()
  }
}

test('nothing that is used of a prepared statement is forgotten', async () => {
  const before = await keptOf(() => {})
  const { rows, columns, parameters } = await keptOf(dropStatementMetadata)

  expect([columns, parameters]).toEqual([[], []])
  expect(rows).toEqual(before.rows)
  expect(before.parameters).toHaveLength(3)
  for (const { columnType } of before.parameters) expect(WHOLE_NUMBERS).not.toContain(columnType)
})
