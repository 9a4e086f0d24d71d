import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '#common/errors.ts'
import { openBackup } from './backup-file.ts'
import { type BackupSet, IMAGES, sha256Of } from './backup-set.ts'
import type { DumpLine } from './dump-database.ts'

/** What the file of a database holds. */
export interface FileContent {
  readonly rows: number
  /** Digests of the contents that its images have. */
  readonly images: readonly string[]
}

const CONTENTS = 'image_contents'

/** Reads the whole file of a database. Throws `invalid` where it is damaged. */
export async function readWhole(file: string): Promise<FileContent> {
  try {
    const { lines } = await openBackup(file)
    const images: string[] = []
    let rows = 0
    let columns: readonly string[] = []
    let isOfContents = false
    for await (const text of lines) {
      const line = JSON.parse(text) as DumpLine
      if ('table' in line) {
        columns = line.columns
        isOfContents = line.table === CONTENTS
        continue
      }
      if (line.length !== columns.length)
        throw new Error(`row ${rows + 1} has ${line.length} values`)
      rows += 1
      const of = (column: string) => line[columns.indexOf(column)] ?? ''
      if (isOfContents && Number(of('image_count')) > 0) images.push(of('sha256'))
    }
    return { rows, images }
  } catch (cause) {
    throw new Failure('invalid', `${file} is damaged: it cannot be read to its end.`, { cause })
  }
}

/** Reads every file of a set. Throws `invalid` for the first that is missing, or is not as it was written. */
export async function verifySet(
  directory: string,
  { name, manifest }: BackupSet,
): Promise<{ readonly rows: number; readonly images: number }> {
  let rows = 0
  for (const { name: fileName, ...written } of manifest.databases) {
    const file = join(directory, name, fileName)
    await assertDigest(file, written.sha256)
    const found = await readWhole(file)
    if (found.rows !== written.rows)
      throw new Failure('invalid', `${file} has ${found.rows} rows instead of ${written.rows}.`)
    rows += found.rows
  }
  for (const sha256 of manifest.images) await assertDigest(join(directory, IMAGES, sha256), sha256)
  return { rows, images: manifest.images.length }
}

async function assertDigest(file: string, sha256: string): Promise<void> {
  if (!existsSync(file)) throw new Failure('invalid', `${file} is missing.`)
  if ((await sha256Of(file)) !== sha256)
    throw new Failure('invalid', `${file} is damaged: its digest is not that of the backup.`)
}
