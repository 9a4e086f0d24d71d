import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Mariadb, runningMariadb, startMariadb, stopMariadb } from './mariadb.ts'

const directory = mkdtempSync(join(tmpdir(), 'weir-mariadb-'))
let first: Mariadb

beforeAll(async () => {
  first = await startMariadb(directory, 'with-parent')
})

afterAll(async () => {
  await stopMariadb(directory)
  rmSync(directory, { recursive: true })
})

async function query(sql: string): Promise<readonly RowDataPacket[]> {
  const connection = await createConnection({ uri: first.rootUrl() })
  try {
    const [rows] = await connection.query<RowDataPacket[]>(sql)
    return rows
  } finally {
    await connection.end()
  }
}

test('startMariadb() makes every commit durable', async () => {
  const rows = await query('SELECT @@innodb_flush_log_at_trx_commit AS flush')

  expect(rows).toEqual([{ flush: 1 }])
})

test('startMariadb() leaves no account without a password', async () => {
  const rows = await query(
    `SELECT User, Host FROM mysql.global_priv WHERE NOT JSON_VALUE(Priv, '$.account_locked') <=> '1'
     AND COALESCE(JSON_VALUE(Priv, '$.authentication_string'), '') = ''`,
  )

  expect(rows).toEqual([])
})

test('startMariadb() leaves a running server as it is', async () => {
  const again = await startMariadb(directory, 'with-parent')

  expect(again.process).toEqual(first.process)
})

test('startMariadb() keeps its secrets from other users', () => {
  const modes = ['settings.json', 'accounts.sql', 'mariadb.cnf'].map(
    (file) => statSync(join(directory, file)).mode & 0o777,
  )

  expect(modes).toEqual([0o600, 0o600, 0o600])
})

test('startMariadb() serves the same data on the same port after a stop', async () => {
  await query('CREATE DATABASE kept')
  await stopMariadb(directory)
  expect(runningMariadb(directory)).toBeUndefined()

  const second = await startMariadb(directory, 'with-parent')

  expect(second.port).toBe(first.port)
  expect(second.process).not.toEqual(first.process)
  expect(await query("SHOW DATABASES LIKE 'kept'")).toHaveLength(1)
})
