import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { sqlStatement } from './statement.ts'

test('a question mark that is not a placeholder is refused when the statement is built', () => {
  expect(() => sqlStatement(sql`select 'why?' from dual where 1 = ${1}`)).toThrow(
    'A statement has a question mark that is no placeholder',
  )
  expect(sqlStatement(sql`select ${sql.placeholder('a')}`).bind({ a: 7 })).toEqual([7])
})
