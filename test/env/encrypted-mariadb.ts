import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createConnection } from 'mysql2/promise'
import { waitFor } from '#common/wait-for.ts'
import { createData } from '#deploy/mariadb/create-data.ts'
import { optionFile, privateOptions } from '#deploy/mariadb/option-file.ts'
import { accountsSql } from '#deploy/mariadb.ts'
import type { ServerTls } from '#deploy/nats/cluster.ts'
import { findProgram } from '#deploy/process/find-program.ts'
import { freePort } from '#deploy/process/free-port.ts'
import { startProcess } from '#deploy/process/start-process.ts'
import { stopProcess } from '#deploy/process/stop-process.ts'
import { writeFileAtomically } from '#deploy/process/write-file-atomically.ts'
import { makeCertificate } from './certificate.ts'

const READY_MS = 60_000
const PASSWORD = 'c0ffee'

/** A MariaDB that takes connections over TLS only, with a certificate for 127.0.0.1. */
export interface EncryptedMariadb extends AsyncDisposable {
  /** Root's, without a database and without the parameter for encryption. */
  readonly url: string
  readonly tls: ServerTls
}

export async function startEncryptedMariadb(): Promise<EncryptedMariadb> {
  const home = mkdtempSync(join(tmpdir(), 'weir-encrypted-'))
  await using owned = new AsyncDisposableStack()
  owned.defer(() => rmSync(home, { recursive: true, force: true }))
  const tls = makeCertificate(home)
  await createData(home)
  const port = await freePort()
  writeFileAtomically(`${home}/accounts.sql`, accountsSql(PASSWORD))
  const options = [
    ...privateOptions(home, port),
    ['ssl-cert', tls.certificateFile],
    ['ssl-key', tls.keyFile],
    ['require-secure-transport', 'ON'],
    ['init-file', `${home}/accounts.sql`],
  ] as const
  writeFileAtomically(`${home}/mariadb.cnf`, optionFile(options))
  const identity = await startProcess({
    command: findProgram('mariadbd'),
    args: [`--defaults-file=${home}/mariadb.cnf`],
    env: { PATH: process.env['PATH'], TZ: 'UTC' },
    directory: home,
    logFile: `${home}/mariadb.log`,
    lifetime: 'with-parent',
  })
  owned.defer(() => stopProcess(identity))
  const url = `mysql://root:${PASSWORD}@127.0.0.1:${port}/`
  const ssl = { rejectUnauthorized: false }
  const isReady = () => createConnection({ uri: url, ssl }).then((it) => it.end().then(() => true))
  await waitFor('MariaDB to accept connections', isReady, READY_MS)
  const parts = owned.move()
  return { url, tls, [Symbol.asyncDispose]: () => parts.disposeAsync() }
}
