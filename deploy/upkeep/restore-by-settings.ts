import { statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { Failure } from '#common/errors.ts'
import { type BackupSubject, openBackup } from './backup-file.ts'
import { findSet, IMAGES } from './backup-set.ts'
import { assertRestorableElsewhere, restoreElsewhere } from './restore-elsewhere.ts'
import { restoreImages } from './restore-images.ts'
import { sourceOfSettings } from './settings-source.ts'
import { verifySet } from './verify-backup-set.ts'

export interface BySettings {
  /** Of the gateways, and of cells. */
  readonly envFiles: readonly string[]
  /** True: what the databases hold now may be lost. */
  readonly mayReplace: boolean
}

/**
 * Afterwards the databases that files of settings name are as in the backup, a file of one database or the directory of a
 * whole backup, and the gateways' images that were missing are there. Before anything is restored, throws as
 * `assertRestorableElsewhere` for each database, and `invalid` where the settings name one that the backup does not have.
 */
export async function restoreBySettings(
  path: string,
  { envFiles, mayReplace }: BySettings,
  progress: (line: string) => void,
): Promise<void> {
  const isSet = statSync(path).isDirectory()
  const { databases, store: opened } = await sourceOfSettings(envFiles, isSet)
  await using store = opened
  progress('Reading the backup ...')
  const set = isSet ? findSet(dirname(path), basename(path)) : undefined
  if (set !== undefined) await verifySet(dirname(path), set)
  const files = set?.manifest.databases.map(({ name }) => join(path, name)) ?? [path]
  const backups = new Map<string, string>()
  for (const file of files) backups.set(subjectName(await subjectOf(file)), file)
  const restored = databases.map(({ of, url, keyFile }) => {
    const file = backups.get(subjectName(of))
    if (file !== undefined) return { of, url, keyFile, file }
    throw new Failure(
      'invalid',
      `${path} has no backup of ${subjectName(of)}, which the settings name. It has: ${[...backups.keys()].join(', ')}.`,
    )
  })
  for (const { url, keyFile, file } of restored)
    await assertRestorableElsewhere(file, { url, keyFile, mayReplace })
  if (set !== undefined && store !== undefined) {
    const count = await restoreImages(join(dirname(path), IMAGES), set.manifest.images, store)
    progress(`Restored ${count} images that were missing.`)
  }
  for (const { of, url, keyFile, file } of restored) {
    await restoreElsewhere(file, { url, keyFile, mayReplace })
    progress(`Restored ${subjectName(of)}.`)
  }
  const named = new Set(restored.map(({ of }) => subjectName(of)))
  for (const name of backups.keys())
    if (!named.has(name)) progress(`Not restored: ${name}, whose settings no --env-file names.`)
}

async function subjectOf(file: string): Promise<BackupSubject> {
  const { header, close } = await openBackup(file)
  close()
  return header.of
}

function subjectName(of: BackupSubject): string {
  return of.kind === 'gateway' ? 'the gateways' : `cell ${of.name} (${of.id})`
}
