import { createConnection } from 'mysql2/promise'
import { expect, test } from 'vitest'
import { freshDatabase } from './env/fresh-database.ts'

test('freshDatabase() makes a database of its own for each caller', async () => {
  const urls = [await freshDatabase('same/name'), await freshDatabase('same/name')]

  expect(urls[0]).not.toBe(urls[1])
  for (const url of urls) {
    const connection = await createConnection({ uri: url })
    const [rows] = await connection.query('SHOW TABLES')
    await connection.end()
    expect(rows).toEqual([])
  }
})
