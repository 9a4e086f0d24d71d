import { createWriteStream, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { Failure } from '#common/errors.ts'
import { openObject } from '#gateway/app/images/store/s3-read.ts'
import type { S3Client } from '#gateway/s3/s3-client.ts'
import { listObjects } from '#gateway/s3/s3-list.ts'
import {
  abortUpload,
  beginUpload,
  completeUpload,
  putPart,
  removeObject,
  sizeOf,
} from '#gateway/s3/s3-multipart.ts'
import {
  type BackupManifest,
  type BackupSet,
  IMAGES,
  isSetName,
  MANIFEST,
  parseManifest,
} from './backup-set.ts'
import { expiredSets, type Keep } from './keep-backup-sets.ts'
import { openSealed, sealedSize, sealFile } from './sealed-parts.ts'
import { verifySet } from './verify-backup-set.ts'

/** A bucket outside of the deployment, in which every object is encrypted. */
export interface OffSite {
  readonly client: S3Client
  readonly key: Buffer
}

const SETS = 'sets'

/** Afterwards the bucket has the set, encrypted, with its images; its manifest comes last, so that no part of a set counts. */
export async function copyOffSite(
  { client, key }: OffSite,
  directory: string,
  { name, manifest }: BackupSet,
): Promise<void> {
  for (const sha256 of manifest.images) {
    const file = join(directory, IMAGES, sha256)
    const object = `${IMAGES}/${sha256}`
    const isThere =
      (await sizeOf(client, keyOf(client, object))) === sealedSize((await stat(file)).size)
    if (!isThere) await putFile(client, key, file, object)
  }
  for (const file of [...manifest.databases.map((each) => each.name), MANIFEST])
    await putFile(client, key, join(directory, name, file), `${SETS}/${name}/${file}`)
}

/** Afterwards the bucket has only the sets that the rules keep, and the images of those. Returns the names of others. */
export async function removeExpiredOffSite(off: OffSite, keep: Keep): Promise<readonly string[]> {
  const { client } = off
  const sets = await offSiteSets(off)
  const expired = expiredSets(sets, keep)
  for (const { name } of expired) {
    // Without its manifest a set does not count, so that comes first.
    await removeObject(client, keyOf(client, `${SETS}/${name}/${MANIFEST}`))
    await removeBelow(client, `${SETS}/${name}/`, () => true)
  }
  const used = new Set(
    sets.filter((set) => !expired.includes(set)).flatMap(({ manifest }) => manifest.images),
  )
  await removeBelow(client, `${IMAGES}/`, (sha256) => !used.has(sha256))
  return expired.map(({ name }) => name)
}

/** Afterwards the directory has the set of this name, or the newest one in the bucket, decrypted and verified. */
export async function fetchFromOffSite(
  off: OffSite,
  directory: string,
  wanted: string | undefined,
): Promise<BackupSet> {
  const names = (await offSiteNames(off.client)).toSorted().toReversed()
  const name = names.find((each) => wanted === undefined || each === wanted)
  if (name === undefined)
    throw new Failure(
      'not-found',
      `There is no backup ${wanted ?? ''} in the bucket.`.replace('  ', ' '),
    )
  if (existsSync(join(directory, name)))
    throw new Failure('conflict', `${join(directory, name)} exists: nothing is overwritten.`)
  const manifest = await manifestOf(off, name)
  const draft = join(directory, `${name}.part`)
  rmSync(draft, { recursive: true, force: true })
  for (const folder of [draft, join(directory, IMAGES)])
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  for (const file of [...manifest.databases.map((each) => each.name), MANIFEST])
    await getFile(off, `${SETS}/${name}/${file}`, join(draft, file))
  for (const sha256 of manifest.images) {
    const file = join(directory, IMAGES, sha256)
    if (!existsSync(file)) await getFile(off, `${IMAGES}/${sha256}`, file)
  }
  renameSync(draft, join(directory, name))
  const set = { name, manifest }
  await verifySet(directory, set)
  return set
}

async function offSiteSets(off: OffSite): Promise<readonly BackupSet[]> {
  const names = await offSiteNames(off.client)
  return Promise.all(names.map(async (name) => ({ name, manifest: await manifestOf(off, name) })))
}

/** Of the sets that are there whole. */
async function offSiteNames(client: S3Client): Promise<readonly string[]> {
  const prefix = keyOf(client, `${SETS}/`)
  const names: string[] = []
  for await (const { key } of listObjects(client, prefix)) {
    const [name = '', file] = key.slice(prefix.length).split('/')
    if (file === MANIFEST && isSetName(name)) names.push(name)
  }
  return names
}

async function manifestOf({ client, key }: OffSite, name: string): Promise<BackupManifest> {
  const object = `${SETS}/${name}/${MANIFEST}`
  const { stream } = await openObject(client, keyOf(client, object))
  const texts: Buffer[] = []
  for await (const text of openSealed(stream, object, key)) texts.push(text)
  return parseManifest(Buffer.concat(texts).toString('utf8'), object)
}

async function removeBelow(
  client: S3Client,
  folder: string,
  isUnused: (name: string) => boolean,
): Promise<void> {
  const prefix = keyOf(client, folder)
  const unused: string[] = []
  for await (const { key } of listObjects(client, prefix))
    if (isUnused(key.slice(prefix.length))) unused.push(key)
  for (const key of unused) await removeObject(client, key)
}

function keyOf({ settings }: S3Client, object: string): string {
  return `${settings.prefix}${object}`
}

async function putFile(client: S3Client, key: Buffer, file: string, object: string): Promise<void> {
  const parts = sealFile(file, object, key)
  const upload = await beginUpload(client, keyOf(client, object))
  try {
    const tags: string[] = []
    for await (const part of parts) tags.push(await putPart(client, upload, tags.length + 1, part))
    const sizeBytes = sealedSize((await stat(file)).size)
    await completeUpload(client, upload, { tags, sizeBytes })
  } catch (error) {
    await abortUpload(client, upload).catch(() => undefined)
    throw error
  }
}

async function getFile({ client, key }: OffSite, object: string, file: string): Promise<void> {
  const draft = `${file}.part`
  const { stream } = await openObject(client, keyOf(client, object))
  await pipeline(openSealed(stream, object, key), createWriteStream(draft, { mode: 0o600 }))
  renameSync(draft, file)
}
