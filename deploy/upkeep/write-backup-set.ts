import { createHash } from 'node:crypto'
import { createWriteStream, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { Database } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { makeDurable } from '#common/make-durable.ts'
import type { ContentStore } from '#gateway/app/images/store/content-store.ts'
import { knownContents } from '#gateway/db/image-contents.ts'
import { type BackedUp, writeBackup } from './backup-file.ts'
import {
  type BackupSet,
  IMAGES,
  MANIFEST,
  newManifest,
  PART,
  setName,
  sha256Of,
} from './backup-set.ts'
import { readWhole, verifySet } from './verify-backup-set.ts'

/** What a deployment has to be backed up. */
export interface BackupSource {
  readonly databases: readonly BackedUp[]
  /** Of the images' contents; undefined: they are left out. */
  readonly store: ContentStore | undefined
}

/**
 * Afterwards the directory has a backup of every database, each as it was at one moment, and of all contents of images
 * that are named in them; all of it has been read again. If this fails there is no new backup.
 */
export async function writeBackupSet(
  directory: string,
  { databases, store }: BackupSource,
  now: Date,
): Promise<BackupSet> {
  mkdirSync(join(directory, IMAGES), { recursive: true, mode: 0o700 })
  removeDrafts(directory)
  const name = setName(now)
  if (existsSync(join(directory, name)))
    throw new Failure('conflict', `${join(directory, name)} exists: nothing is overwritten.`)
  const draft = join(directory, `${name}${PART}`)
  mkdirSync(draft, { mode: 0o700 })
  try {
    const files = []
    const images: string[] = []
    for (const source of databases) {
      const fileName =
        source.of.kind === 'gateway' ? 'gateway.backup' : `cell-${source.of.name}.backup`
      const file = join(draft, fileName)
      await writeBackup(file, source)
      const content = await readWhole(file)
      files.push({ name: fileName, sha256: await sha256Of(file), rows: content.rows })
      await makeDurable(file)
      if (store !== undefined)
        images.push(
          ...(await copyImages(join(directory, IMAGES), store, source.url, content.images)),
        )
    }
    const manifest = newManifest(now, files, images)
    await writeFile(join(draft, MANIFEST), JSON.stringify(manifest, null, 1), { mode: 0o600 })
    await makeDurable(join(draft, MANIFEST))
    renameSync(draft, join(directory, name))
    await makeDurable(directory)
    const set = { name, manifest }
    await verifySet(directory, set)
    return set
  } catch (error) {
    for (const folder of [draft, join(directory, name)])
      rmSync(folder, { recursive: true, force: true })
    throw error
  }
}

/** Of backups that were killed. */
function removeDrafts(directory: string): void {
  for (const folder of [directory, join(directory, IMAGES)])
    for (const entry of readdirSync(folder))
      if (entry.endsWith(PART)) rmSync(join(folder, entry), { recursive: true })
}

/** Returns those that have been copied, now or before; others have been deleted since the database was read. */
async function copyImages(
  folder: string,
  store: ContentStore,
  url: string,
  digests: readonly string[],
): Promise<readonly string[]> {
  await using db = new Database({ url, connectionsMax: 1 })
  const copied: string[] = []
  for (const sha256 of digests) {
    const file = join(folder, sha256)
    try {
      if (!existsSync(file)) await copyImage(store, sha256, file)
      copied.push(sha256)
    } catch (error) {
      if ((await knownContents(db, [sha256])).has(sha256)) throw error
    }
  }
  return copied
}

async function copyImage(store: ContentStore, sha256: string, file: string): Promise<void> {
  const draft = `${file}${PART}`
  const hash = createHash('sha256')
  const { stream } = await store.read(sha256)
  await pipeline(
    stream,
    async function* (chunks: AsyncIterable<Uint8Array>) {
      for await (const chunk of chunks) {
        hash.update(chunk)
        yield chunk
      }
    },
    createWriteStream(draft, { mode: 0o600 }),
  )
  if (hash.digest('hex') !== sha256) {
    rmSync(draft)
    throw new Failure('invalid', `The image store has another content under the name ${sha256}.`)
  }
  await makeDurable(draft)
  renameSync(draft, file)
}
