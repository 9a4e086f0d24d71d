import { createConnection } from 'mysql2/promise'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '#deploy/process/free-port.ts'
import { type PrivateServices, privateServices } from '#test/env/private-services.ts'
import { assertVersion, checkDatabases } from './check-databases.ts'

// Goal: database servers that a deployment cannot use are refused before anything is made on them, with the reason.

let servers: PrivateServices
let root: string

beforeAll(async () => {
  servers = await privateServices()
  root = servers.services.databaseRootUrl
})

afterAll(() => servers?.[Symbol.asyncDispose]())

async function run(statement: string): Promise<void> {
  const connection = await createConnection({ uri: root })
  await connection.query(statement)
  await connection.end()
}

test.each([
  ['10.6.0-MariaDB', undefined],
  ['11.4.2-MariaDB-ubu2404-log', undefined],
  ['5.5.5-10.11.6-MariaDB', undefined],
  ['10.5.29-MariaDB', 'needs 10.6 or later'],
  ['8.0.36', 'needs MariaDB 10.6'],
  ['8.0.11-TiDB-v7.5.0', 'needs MariaDB 10.6'],
])('a server that is %s is refused: %s', (version, reason) => {
  const check = () => assertVersion('db:3306', version)

  if (reason === undefined) expect(check).not.toThrow()
  else expect(check).toThrow(reason)
})

test('a server without the names is taken, and nothing is made on it', async () => {
  await checkDatabases(root, ['weir', 'weir_cell_north'])
  await checkDatabases(root, ['weir', 'weir_cell_north'])
})

test('a database or an account that exists is refused by its name', async () => {
  await run('create database weir_cell_taken')
  await expect(checkDatabases(root, ['weir', 'weir_cell_taken'])).rejects.toMatchObject({
    kind: 'conflict',
    message: expect.stringContaining('DROP DATABASE weir_cell_taken'),
  })

  await run("create user held@'%' identified by 'secret'")
  await expect(checkDatabases(root, ['held'])).rejects.toMatchObject({
    kind: 'conflict',
    message: expect.stringContaining("DROP USER 'held'@'%'"),
  })
})

test('a server that is away, and one that refuses the account, are told apart', async () => {
  const away = `mysql://root@127.0.0.1:${await freePort()}`
  await expect(checkDatabases(away, ['weir'])).rejects.toMatchObject({ kind: 'unavailable' })

  const wrong = new URL(root)
  wrong.password = 'wrong'
  await expect(checkDatabases(wrong.href, ['weir'])).rejects.toMatchObject({
    kind: 'forbidden',
    message: expect.not.stringContaining('wrong'),
  })
})

test('servers that have data of their own each are not taken for one', async () => {
  await using other = await privateServices()
  const { host } = new URL(other.services.databaseRootUrl)
  await run('alter user root@127.0.0.1 identified by "same"')
  const own = new URL(root)
  own.password = 'same'
  root = own.href
  const connection = await createConnection({ uri: other.services.databaseRootUrl })
  await connection.query('alter user root@127.0.0.1 identified by "same"')
  await connection.end()

  const both = root.replace(own.host, `${own.host},${host}`)
  await expect(checkDatabases(both, ['weir'])).rejects.toMatchObject({
    kind: 'invalid',
    message: expect.stringContaining('do not have the same data'),
  })
})
