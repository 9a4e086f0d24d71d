import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeCertificate } from '#test/env/certificate.ts'
import { type EncryptedMariadb, startEncryptedMariadb } from '#test/env/encrypted-mariadb.ts'
import { connectionTo } from './connection-options.ts'
import { Database } from './database.ts'
import { databaseUrls } from './database-url.ts'

const directory = mkdtempSync(join(tmpdir(), 'weir-ssl-ca-'))
let mariadb: EncryptedMariadb

beforeAll(async () => {
  mariadb = await startEncryptedMariadb()
}, 120_000)

afterAll(async () => {
  await mariadb?.[Symbol.asyncDispose]()
  rmSync(directory, { recursive: true })
})

async function askCipher(url: string): Promise<unknown> {
  await using db = new Database({ url, connectionsMax: 1 })
  const [rows] = (await db.orm.execute(sql`show session status like 'Ssl_cipher'`)) as unknown as [
    readonly { readonly Value: string }[],
  ]
  return rows[0]?.Value
}

test('a URL with ssl-ca encrypts the connection', async () => {
  expect(await askCipher(`${mariadb.url}?ssl-ca=${mariadb.tls.caFile}`)).toMatch(/^TLS_/)
})

test('a URL without ssl-ca is refused by a server that wants encryption', async () => {
  await expect(askCipher(mariadb.url)).rejects.toThrow()
})

test('a server whose certificate is from another authority gets no password', async () => {
  const other = makeCertificate(directory)

  await expect(askCipher(`${mariadb.url}?ssl-ca=${other.caFile}`)).rejects.toThrow(/certificate/)
})

test('a pool trusts an authority that is added to the file of ssl-ca after it was opened', async () => {
  const file = join(directory, 'growing.crt')
  writeFileSync(file, readFileSync(makeCertificate(directory).caFile))
  await using db = new Database({ url: `${mariadb.url}?ssl-ca=${file}`, connectionsMax: 1 })
  await expect(db.orm.execute(sql`select 1`)).rejects.toThrow(/certificate/)

  appendFileSync(file, readFileSync(mariadb.tls.caFile))

  await db.orm.execute(sql`select 1`)
  rmSync(file)
  await db.orm.execute(sql`select 1`)
})

test('a server whose certificate is for another name is refused', async () => {
  const url = mariadb.url.replace('127.0.0.1', 'localhost')

  await expect(askCipher(`${url}?ssl-ca=${mariadb.tls.caFile}`)).rejects.toThrow()
})

test('an encrypted connection that is silent for too long is ended', async () => {
  const url = `${mariadb.url}?ssl-ca=${mariadb.tls.caFile}`
  await using db = new Database({ url, connectionsMax: 1, responseTimeoutMs: 300 })

  await expect(db.orm.execute(sql`select sleep(20)`)).rejects.toThrow()
})

test('another parameter of the URL is refused', () => {
  expect(() => databaseUrls('mysql://u:secret@a/weir?ssl=true')).toThrow(
    'The URL of a database has the parameter ssl, and ssl-ca is the only one',
  )
})

test('a file of ssl-ca that is not there is named', () => {
  expect(() => connectionTo('mysql://u:secret@a/weir?ssl-ca=/no/such.crt')).toThrow(
    '/no/such.crt, which the URL of a database names as ssl-ca, cannot be read',
  )
})
