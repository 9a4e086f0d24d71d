import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { type InstanceId, isUuid } from '#common/ids.ts'
import type { NicSpec } from '../driver.ts'
import { type InstanceFiles, instanceFiles, instancesFolder } from './instance-files.ts'

/** What a host must remember of an instance beside its domain: which networks and image it uses. */
export interface InstanceRecord {
  readonly version: 1
  readonly imageSha256: string
  /** The image a rebuild is changing it to, or was when it was interrupted. */
  readonly nextImageSha256?: string
  readonly nics: readonly NicSpec[]
}

/** Afterwards the record is on disk, whole, before any of what it names exists. */
export async function writeInstanceRecord(
  files: InstanceFiles,
  record: InstanceRecord,
): Promise<void> {
  // QEMU may run as a user of its own, which must pass through but not look around.
  await mkdir(files.folder, { recursive: true, mode: 0o711 })
  const partial = `${files.record}.part`
  await writeFile(partial, JSON.stringify(record), { mode: 0o600, flush: true })
  await rename(partial, files.record)
}

/** The record, or undefined when the instance is not on this host. */
export async function readInstanceRecord(
  files: InstanceFiles,
): Promise<InstanceRecord | undefined> {
  try {
    return JSON.parse(await readFile(files.record, 'utf8')) as InstanceRecord
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Every record on this host, half-built instances included. */
export async function listInstanceRecords(
  stateDirectory: string,
): Promise<Map<InstanceId, InstanceRecord>> {
  const folder = instancesFolder(stateDirectory)
  const names = await readdir(folder).catch(() => [])
  const records = new Map<InstanceId, InstanceRecord>()
  for (const id of names.filter(isUuid) as InstanceId[]) {
    const record = await readInstanceRecord(instanceFiles(stateDirectory, id))
    if (record !== undefined) records.set(id, record)
  }
  return records
}

/** Images that some instance's disks show. */
export async function imagesInUse(stateDirectory: string): Promise<ReadonlySet<string>> {
  const records = [...(await listInstanceRecords(stateDirectory)).values()]
  return new Set(
    records.flatMap(({ imageSha256, nextImageSha256 = imageSha256 }) => [
      imageSha256,
      nextImageSha256,
    ]),
  )
}

/** Afterwards no file of the instance is left. */
export async function removeInstanceFiles(files: InstanceFiles): Promise<void> {
  await rm(files.vncSocket, { force: true })
  await rm(files.folder, { recursive: true, force: true })
}
