import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure } from '#common/errors.ts'
import type { VolumeId } from '#common/ids.ts'
import type { Keyring } from '../../../keyring.ts'
import type { VolumeEncryption } from '../../../volumes.ts'
import {
  copyNode,
  type DiskNode,
  type DiskPlace,
  headerBytes,
  LEAST_BYTES,
  makeLuksFile,
  readLuksHeader,
} from '../encryption/luks-file.ts'
import { removeFile } from '../volume-files.ts'
import { type Ask, type RbdClient, rbd } from './rbd-client.ts'
import { specOf } from './rbd-images.ts'

/** What work with encrypted volumes needs of a host. */
export interface LuksWork {
  readonly keyring: Keyring
  /** For files that are gone again after the work. */
  readonly scratch: string
}

interface NewLuks {
  readonly id: VolumeId
  readonly encryption: VolumeEncryption
  readonly image: string
  /** Of the content. */
  readonly bytes: number
}

/** Afterwards the image, which was not there, is an encrypted disk of so many bytes, which reads as noise. Throws `conflict` without its key. */
export async function makeLuksImage(
  { keyring, scratch }: LuksWork,
  client: RbdClient,
  { id, encryption, image, bytes }: NewLuks,
  ask: Ask,
): Promise<void> {
  const key = keyring.keyOf(id)
  await mkdir(scratch, { recursive: true, mode: 0o700 })
  const path = join(scratch, `luks-${id}`)
  const offset = headerBytes(encryption.keyBits)
  // What an earlier process left.
  await removeFile(path)
  try {
    await makeLuksFile({ path, key }, encryption, LEAST_BYTES, ask.signal)
    if ((await readLuksHeader(path)).offset !== offset)
      throw new Failure(
        'internal',
        'QEMU has made a header of LUKS of another size than LUKS1 has.',
      )
    const spec = specOf(client, image)
    await rbd(client, ['import', '--no-progress', path, spec], ask)
    await rbd(client, ['resize', '--no-progress', '--size', `${offset + bytes}B`, spec], ask)
  } finally {
    await removeFile(path)
  }
}

/** Afterwards the image `to`, which is there and empty, has the content of `from`, each opened with the key of its volume, if it has one. */
export async function copyImage(
  { keyring }: LuksWork,
  from: CopiedDisk,
  to: CopiedDisk,
  ask: Ask,
): Promise<void> {
  const nodeOf = ({ keyOf, ...node }: CopiedDisk): DiskNode =>
    keyOf === undefined ? node : { ...node, key: keyring.keyOf(keyOf) }
  await copyNode(nodeOf(from), nodeOf(to), ask.signal)
}

/** A disk that is copied. */
export interface CopiedDisk extends Pick<DiskNode, 'at' | 'format'> {
  /** The volume with whose key it is opened; absent: it is not encrypted. */
  readonly keyOf?: VolumeId
}

/** An image of the pool, or a snapshot of one, as QEMU finds it. */
export function inPool(
  { pool, user, configuration }: RbdClient,
  image: string,
  snapshot?: string,
): DiskPlace {
  return {
    ...{ driver: 'rbd', pool, image, conf: configuration },
    ...(snapshot !== undefined && { snapshot }),
    ...(user !== undefined && { user }),
  }
}
