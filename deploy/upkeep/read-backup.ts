import { createReadStream, existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { createGunzip } from 'node:zlib'
import { Failure } from '#common/errors.ts'
import { type BackupHeader, isBackupHeader } from './backup-header.ts'

/** A backup that is being read. */
export interface OpenBackup {
  readonly header: BackupHeader
  /** What follows the header. */
  readonly lines: AsyncIterable<string>
}

/** Throws `not-found`, and `invalid` for a file that is no backup. */
export async function openBackup(file: string): Promise<OpenBackup> {
  if (!existsSync(file)) throw new Failure('not-found', `There is no file ${file}.`)
  const input = createReadStream(file).pipe(createGunzip())
  const lines = createInterface({ input })[Symbol.asyncIterator]()
  const header = await lines
    .next()
    .then(({ value }) => JSON.parse(String(value)) as unknown)
    .catch(() => undefined)
  if (isBackupHeader(header)) return { header, lines: { [Symbol.asyncIterator]: () => lines } }
  input.destroy()
  throw new Failure('invalid', `${file} is no backup that this Weir reads.`)
}
