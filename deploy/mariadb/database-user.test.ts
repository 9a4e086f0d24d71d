import { randomBytes } from 'node:crypto'
import { createConnection } from 'mysql2/promise'
import { beforeAll, expect, test } from 'vitest'
import { testServices } from '#test/env/services.ts'
import { databaseUser, restoreDatabases } from './database-user.ts'

const PASSWORD = randomBytes(8).toString('hex')
const suffix = randomBytes(4).toString('hex')
const own = `cell_a_${suffix}`
let rootUrl: string

beforeAll(async () => {
  rootUrl = (await testServices()).databaseRootUrl
  await databaseUser(rootUrl, own, PASSWORD)
})

async function query(sql: string): Promise<void> {
  const uri = new URL(rootUrl)
  uri.username = own
  uri.password = PASSWORD
  const connection = await createConnection({ uri: uri.href })
  try {
    await connection.query(sql)
  } finally {
    await connection.end()
  }
}

test('databaseUser() makes an account that creates and uses its own database', async () => {
  await query(`CREATE DATABASE ${own}`)
  await query(`CREATE TABLE ${own}.t (id int)`)
})

test.each([
  ['another database', `CREATE DATABASE cell_b_${suffix}`],
  ['a database that differs by what _ matches', `CREATE DATABASE cellxax${suffix}`],
  ['the accounts', 'SELECT * FROM mysql.global_priv'],
  ['new accounts', 'CREATE USER thief'],
])('databaseUser() makes an account that cannot reach %s', async (_what, sql) => {
  await expect(query(sql)).rejects.toThrow(/denied/)
})

test('an account that may restore makes and drops what a restore needs, and no account may otherwise', async () => {
  const { draft } = restoreDatabases(own)
  await expect(query(`CREATE DATABASE ${draft}`)).rejects.toThrow(/denied/)

  await databaseUser(rootUrl, own, PASSWORD, { mayRestore: true })

  for (const database of Object.values(restoreDatabases(own))) {
    await query(`CREATE DATABASE ${database}`)
    await query(`DROP DATABASE ${database}`)
  }
})

test('databaseUser() can be repeated', async () => {
  await databaseUser(rootUrl, own, PASSWORD)

  await query(`USE ${own}`)
})
