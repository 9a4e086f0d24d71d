import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createConnection } from 'mysql2/promise'
import { expect, test } from 'vitest'
import { makeCertificate } from '#test/env/certificate.ts'
import { startEncryptedMariadb } from '#test/env/encrypted-mariadb.ts'
import { projectRoot } from '../paths.ts'

const SCRIPT = join(projectRoot, 'deploy/mariadb/reload-certificate')
const PASSWORD = 'abad1dea'

test('a server shows the certificate that its files have now, and keeps its connections', async () => {
  await using mariadb = await startEncryptedMariadb()
  const { tls, url: uri } = mariadb
  const connect = () =>
    createConnection({ uri, ssl: { ca: readFileSync(tls.caFile), verifyIdentity: false } })
  const before = await connect()
  await before.query(`CREATE USER sst@localhost IDENTIFIED BY '${PASSWORD}'`)
  await before.query('GRANT RELOAD ON *.* TO sst@localhost')
  const home = dirname(tls.certificateFile)
  const passwordFile = join(home, 'password')
  writeFileSync(passwordFile, `${PASSWORD}\n`)

  const other = join(home, 'next')
  mkdirSync(other)
  const next = makeCertificate(other)
  writeFileSync(tls.keyFile, readFileSync(next.keyFile))
  writeFileSync(tls.certificateFile, readFileSync(next.certificateFile))
  await expect(connect()).rejects.toThrow(/certificate/)
  expect(spawnSync(SCRIPT, [home, passwordFile], { encoding: 'utf8' })).toMatchObject({
    stderr: '',
    status: 0,
  })

  await (await connect()).end()
  await before.query('SELECT 1')
  await before.end()
})
