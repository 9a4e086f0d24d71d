import { readdir, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { Failure, isFailure } from '#common/errors.ts'
import { isUuid, type VolumeId, type VolumeSnapshotId } from '#common/ids.ts'
import type { Owner } from '../../driver.ts'
import type { VolumeReport } from '../../volumes.ts'
import { readLuksHeader } from './encryption/luks-file.ts'
import type { FolderStore } from './pools.ts'

/** Libvirt keeps no metadata of volumes: the name of a file says whose it is. */
function prefixOf({ cellId }: Pick<Owner, 'cellId'>): string {
  return `weir-${cellId}-`
}

export function volumePath({ path }: FolderStore, owner: Owner, id: VolumeId): string {
  return join(path, `${prefixOf(owner)}${id}`)
}

const LUKS = 'luks'

/** The same of an encrypted one: guests write whatever they like into others, also what looks like a header of LUKS. */
export function luksPath(store: FolderStore, owner: Owner, id: VolumeId): string {
  return `${volumePath(store, owner, id)}.${LUKS}`
}

/** A volume in a folder. */
export interface VolumeFile {
  readonly path: string
  /** What guests see. */
  readonly bytes: number
  readonly isEncrypted: boolean
}

/** The file of a volume. Throws `not-found` for one that is not there. */
export async function findVolumeFile(
  store: FolderStore,
  owner: Owner,
  id: VolumeId,
): Promise<VolumeFile> {
  const plain = volumePath(store, owner, id)
  const plainBytes = await sizeIfThere(plain)
  if (plainBytes !== undefined) return { path: plain, bytes: plainBytes, isEncrypted: false }
  const path = luksPath(store, owner, id)
  const bytes = await sizeIfThere(path)
  if (bytes === undefined)
    throw new Failure('not-found', `Volume ${id} could not be found in its store.`)
  return { path, bytes: bytes - (await readLuksHeader(path)).offset, isEncrypted: true }
}

export function snapshotPath(
  store: FolderStore,
  owner: Owner,
  id: VolumeId,
  snapshot: VolumeSnapshotId,
): string {
  return `${volumePath(store, owner, id)}.${snapshot}`
}

const PART = '.part'

/** Where a volume or snapshot is while it is made. */
export function partPath(path: string): string {
  return `${path}${PART}`
}

/** The volumes of this owner's cell that are whole. */
export async function listVolumeFiles(
  store: FolderStore,
  owner: Owner,
): Promise<readonly VolumeReport[]> {
  const prefix = prefixOf(owner)
  const names = (await readdir(store.path)).filter((name) => name.startsWith(prefix)).toSorted()
  const parsed = names.map((name) => name.slice(prefix.length).split('.'))
  const reports = parsed
    .filter(
      ([id, more, ...rest]) =>
        isUuid(id!) && (more === undefined || more === LUKS) && rest.length === 0,
    )
    .map(async ([id]) => {
      const bytes = await bytesIfThere(store, owner, id as VolumeId)
      const snapshots = parsed
        .filter(([volume, snapshot]) => volume === id && snapshot !== undefined && isUuid(snapshot))
        .flatMap((parts) => (parts.length === 2 ? [parts[1] as VolumeSnapshotId] : []))
      // Another host may have removed it meanwhile.
      return bytes === undefined ? [] : [{ id: id as VolumeId, bytes, snapshots }]
    })
  return (await Promise.all(reports)).flat()
}

async function bytesIfThere(
  store: FolderStore,
  owner: Owner,
  id: VolumeId,
): Promise<number | undefined> {
  return findVolumeFile(store, owner, id).then(
    ({ bytes }) => bytes,
    (error: unknown) => {
      if (isFailure(error, 'not-found')) return undefined
      throw error
    },
  )
}

export async function sizeIfThere(path: string): Promise<number | undefined> {
  return stat(path).then(
    ({ size }) => size,
    (error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    },
  )
}

/** Afterwards neither the volume nor a part of it or of a snapshot is there. */
export async function removeVolumeFiles(
  store: FolderStore,
  owner: Owner,
  id: VolumeId,
): Promise<void> {
  const path = volumePath(store, owner, id)
  const parts = (await readdir(store.path)).filter(
    (name) => name.startsWith(`${basename(path)}.`) && name.endsWith(PART),
  )
  for (const name of parts) await rm(join(store.path, name), { force: true })
  for (const each of [path, luksPath(store, owner, id)]) await rm(each, { force: true })
}

/** Afterwards neither the file nor a part of it is there. */
export async function removeFile(path: string): Promise<void> {
  for (const each of [path, partPath(path)]) await rm(each, { force: true })
}
