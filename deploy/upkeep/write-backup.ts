import { createWriteStream, existsSync, renameSync, rmSync } from 'node:fs'
import { finished } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { Failure } from '#common/errors.ts'
import { type BackupSubject, backupHeader } from './backup-header.ts'
import { dumpDatabase } from './dump-database.ts'

export interface BackedUp {
  readonly of: BackupSubject
  readonly url: string
  /** Of the secrets sealed in it. */
  readonly keyFile: string
}

/** Afterwards the file (0600) holds the database as it is now, whole; before, or if this fails, there is none. */
export async function writeBackup(file: string, { of, url, keyFile }: BackedUp): Promise<void> {
  if (existsSync(file)) throw new Failure('conflict', `${file} exists: nothing is overwritten.`)
  const draft = `${file}.part`
  const zip = createGzip()
  const out = zip.pipe(createWriteStream(draft, { mode: 0o600 }))
  try {
    zip.write(`${JSON.stringify(backupHeader(of, keyFile))}\n`)
    await dumpDatabase(url, zip)
    zip.end()
    await finished(out)
    renameSync(draft, file)
  } catch (error) {
    zip.destroy()
    rmSync(draft, { force: true })
    throw error
  }
}
