import { open } from 'node:fs/promises'
import { Failure } from '#common/errors.ts'
import type { VolumeId } from '#common/ids.ts'
import { copyDisk, type DiskTarget } from '../../qemu-img.ts'
import type { VolumeSpec } from '../../volumes.ts'
import { backUp } from '../back-up.ts'
import type { LibvirtHost } from '../host.ts'
import {
  copyNode,
  type DiskNode,
  inFile,
  makeLuksFile,
  readLuksHeader,
} from './encryption/luks-file.ts'
import { givenDisk, volumeCopies } from './given-disk.ts'
import { lockFailure, type OpenDisk, openDisksOf } from './openers.ts'
import type { FolderStore } from './pools.ts'
import { inSectors } from './store.ts'
import { findVolumeFile, sizeIfThere, snapshotPath, type VolumeFile } from './volume-files.ts'

type Wanted = Pick<VolumeSpec, 'id' | 'bytes' | 'encryption' | 'from'>

/** Afterwards the file at `path`, which was not there, has the content with which the volume begins, and at least its size if it is encrypted. */
export async function fillVolume(
  host: LibvirtHost,
  store: FolderStore,
  wanted: Wanted,
  path: string,
  signal: AbortSignal,
): Promise<void> {
  const { from } = wanted
  if (from === undefined) return makeTarget(host, wanted, path, wanted.bytes, signal)
  const { images } = host
  const given = await givenDisk({ images, copies: volumeCopies(host) }, wanted, signal)
  if (given !== undefined) {
    const { keyOf, ...disk } = given.disk
    const source = { ...disk, ...(keyOf !== undefined && { key: host.keyring.keyOf(keyOf) }) }
    const bytes = Math.max(wanted.bytes, given.bytes)
    return fill(host, { wanted, path, source, bytes }, signal)
  }
  if (!('volume' in from)) throw new Error('A volume is made from what there is not')
  const file = await findVolumeFile(store, host.owner, from.volume)
  const bytes = Math.max(wanted.bytes, file.bytes)
  if ('snapshot' in from) {
    const snapshot = await findSnapshot(host, store, from)
    const source = nodeOf(host, from.volume, { ...file, path: snapshot })
    return fill(host, { wanted, path, source, bytes }, signal)
  }
  const disk = await writingDisk(host, from.volume, signal)
  if (disk !== undefined) {
    if (wanted.encryption !== undefined) await makeTarget(host, wanted, path, bytes, signal)
    return backUpTo(host, disk, { path, format: 'raw', ...encryptedFor(wanted) }, signal)
  }
  const source = nodeOf(host, from.volume, file)
  await fill(host, { wanted, path, source, bytes }, signal).catch((error: unknown) => {
    throw lockFailure(error, from.volume)
  })
}

/**
 * Afterwards the file, which was not there, has the volume's content of one moment, also of a volume that a guest of
 * this host writes; that of an encrypted volume is encrypted with the same key. Throws `conflict` where a guest elsewhere,
 * or more than one, may write.
 */
export async function keepContent(
  host: LibvirtHost,
  store: FolderStore,
  id: VolumeId,
  path: string,
  signal: AbortSignal,
): Promise<void> {
  const file = await findVolumeFile(store, host.owner, id)
  const disk = file.isEncrypted ? await writingDisk(host, id, signal) : undefined
  if (disk === undefined) return copyVolume(host, id, file, { path, format: 'raw' }, signal)
  const { keyBits } = await readLuksHeader(file.path)
  const alike = { id, encryption: { keyBits } }
  await makeTarget(host, alike, path, file.bytes, signal)
  await backUpTo(host, disk, { path, format: 'raw', ...encryptedFor(alike) }, signal)
}

/** The same of a volume that is given away; that of an encrypted one is as its file has it. */
export async function giveContent(
  host: LibvirtHost,
  store: FolderStore,
  id: VolumeId,
  to: DiskTarget,
  signal: AbortSignal,
): Promise<void> {
  const file = await findVolumeFile(store, host.owner, id)
  await copyVolume(host, id, file, to, signal)
}

/** Afterwards the file `path` is, byte by byte, what a snapshot of the volume is. Throws `not-found`. */
export async function copySnapshot(
  host: LibvirtHost,
  store: FolderStore,
  of: Parameters<typeof findSnapshot>[2],
  path: string,
  signal: AbortSignal,
): Promise<void> {
  const snapshot = await findSnapshot(host, store, of)
  await copyDisk({ path: snapshot, format: 'raw' }, { path, format: 'raw' }, signal)
}

async function findSnapshot(
  { owner }: LibvirtHost,
  store: FolderStore,
  of: Extract<NonNullable<VolumeSpec['from']>, { readonly snapshot: unknown }>,
): Promise<string> {
  const path = snapshotPath(store, owner, of.volume, of.snapshot)
  if ((await sizeIfThere(path)) !== undefined) return path
  throw new Failure('not-found', `Snapshot ${of.snapshot} could not be found in its store.`)
}

/** The file of an encrypted volume is copied as it is. */
async function copyVolume(
  host: LibvirtHost,
  id: VolumeId,
  file: VolumeFile,
  to: DiskTarget,
  signal: AbortSignal,
): Promise<void> {
  const disk = file.isEncrypted ? undefined : await writingDisk(host, id, signal)
  if (disk !== undefined) {
    if ('options' in to)
      throw new Failure('conflict', `Instance ${disk.instance} has volume ${id}.`)
    return backUpTo(host, disk, to, signal)
  }
  await copyDisk({ path: file.path, format: 'raw' }, to, signal).catch((error: unknown) => {
    throw lockFailure(error, id)
  })
}

interface Filling {
  readonly wanted: Wanted
  readonly path: string
  readonly source: DiskNode
  readonly bytes: number
}

async function fill(
  host: LibvirtHost,
  { wanted, path, source, bytes }: Filling,
  signal: AbortSignal,
): Promise<void> {
  const { id, encryption } = wanted
  const at = inFile(path)
  if (encryption === undefined) return copyNode(source, { at }, signal)
  await makeTarget(host, wanted, path, bytes, signal)
  await copyNode(source, { at, key: host.keyring.keyOf(id) }, signal)
}

/** Afterwards the file is there, empty; an encrypted one has at least so many bytes. */
async function makeTarget(
  { keyring }: LibvirtHost,
  { id, encryption }: Pick<Wanted, 'id' | 'encryption'>,
  path: string,
  bytes: number,
  signal: AbortSignal,
): Promise<void> {
  if (encryption === undefined) return makeEmpty(path)
  await makeLuksFile({ path, key: keyring.keyOf(id) }, encryption, inSectors(bytes), signal)
}

function encryptedFor({ id, encryption }: Pick<Wanted, 'id' | 'encryption'>) {
  return encryption === undefined ? {} : { encryptedFor: id }
}

function nodeOf({ keyring }: LibvirtHost, id: VolumeId, file: VolumeFile): DiskNode {
  const at = inFile(file.path)
  return file.isEncrypted ? { at, key: keyring.keyOf(id) } : { at }
}

/** The only disk of a guest of this host that writes the volume; undefined: none, or several do. */
async function writingDisk(
  host: LibvirtHost,
  id: VolumeId,
  signal: AbortSignal,
): Promise<OpenDisk | undefined> {
  const disks = (await openDisksOf(host, id, signal)).filter(({ volume }) => !volume.isReadOnly)
  return disks.find(({ volume }) => !volume.isShared)
}

function backUpTo(
  host: LibvirtHost,
  { instance, domain, target }: OpenDisk,
  to: Omit<Parameters<typeof backUp>[2], 'target'>,
  signal: AbortSignal,
): Promise<void> {
  return host.locks.runPreemptible(instance, signal, (lockSignal) =>
    backUp(host, domain, { target, ...to }, lockSignal),
  )
}

async function makeEmpty(path: string): Promise<void> {
  await (await open(path, 'wx', 0o600)).close()
}
