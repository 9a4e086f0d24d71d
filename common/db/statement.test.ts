import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { sqlStatement } from './statement.ts'

test('a question mark that is not a placeholder is refused when the statement is built', () => {
  expect(() => sqlStatement(sql`select 'why?' from dual where 1 = ${1}`)).toThrow(
    'A statement has a question mark that is no placeholder',
  )
  expect(sqlStatement(sql`select ${sql.placeholder('a')}`).bind({ a: 7 })).toEqual([7])
})

test('a key is a value with which a column is compared', () => {
  const key = sql.placeholder('key')
  const options = { keys: ['key'] }

  const deleted = sqlStatement(sql`delete from a where n > ${1} and id = ${key}`, options)
  expect(deleted.keys).toEqual([1])
  for (const condition of [sql`id > ${key}`, sql`id = ${1}`])
    expect(() => sqlStatement(sql`delete from a where ${condition}`, options)).toThrow(
      'A statement compares no column with key',
    )
})
