import { Failure } from '#common/errors.ts'
import { isUuid, type VolumeId, type VolumeSnapshotId } from '#common/ids.ts'
import type { Owner } from '../../../driver.ts'
import type { VolumeEncryption, VolumeReport } from '../../../volumes.ts'
import { headerBytes } from '../encryption/luks-file.ts'
import { type Ask, EXIT, endedWith, type RbdClient, rbd, rbdJson } from './rbd-client.ts'

export type KeyBits = VolumeEncryption['keyBits']

/** The usual one first. */
const KEY_BITS = [256, 128] as const
const LUKS = 'luks'
const PART = '.part'

/** The names of a cell's objects in a pool: who has made an object is known by its name alone. */
export interface RbdNames {
  readonly prefix: string
  /** `keyBits`: of an encrypted one. Guests write whatever they like into others, also what looks like a header of LUKS. */
  volume(id: VolumeId, keyBits?: KeyBits): string
  /** A volume or image while it is made. */
  part(name: string): string
  isPart(name: string): boolean
  /** An image of the image service, of which volumes are copies that share its content. */
  image(sha256: string): string
}

export function rbdNames({ cellId }: Pick<Owner, 'cellId'>): RbdNames {
  const prefix = `weir-${cellId}-`
  return {
    prefix,
    volume: (id, keyBits) => `${prefix}${id}${keyBits === undefined ? '' : `.${LUKS}${keyBits}`}`,
    part: (name) => `${name}${PART}`,
    isPart: (name) => name.endsWith(PART),
    image: (sha256) => `${prefix}image-${sha256}`,
  }
}

/** An image of the pool, as Ceph's programs name it. */
export function specOf({ pool }: RbdClient, image: string, snapshot?: string): string {
  return `${pool}/${image}${snapshot === undefined ? '' : `@${snapshot}`}`
}

export interface ImageInfo {
  readonly size: number
  readonly parent?: { readonly image: string; readonly snapshot: string }
}

/** Undefined for an image that is not there. */
export async function imageInfo(
  client: RbdClient,
  image: string,
  ask: Ask,
): Promise<ImageInfo | undefined> {
  try {
    return await rbdJson<ImageInfo>(client, ['info', specOf(client, image)], ask)
  } catch (error) {
    if (endedWith(error, EXIT.notFound)) return undefined
    throw error
  }
}

/** The image that a volume is. */
export interface VolumeImage {
  readonly image: string
  /** What guests see. */
  readonly bytes: number
  /** Absent: it is not encrypted. */
  readonly keyBits?: KeyBits
}

/** The bytes of an image that are not its volume's content. */
export function headerOf(keyBits: VolumeImage['keyBits']): number {
  return keyBits === undefined ? 0 : headerBytes(keyBits)
}

/** Undefined for a volume that is not there. */
export async function findVolumeImage(
  client: RbdClient,
  names: RbdNames,
  id: VolumeId,
  ask: Ask,
): Promise<VolumeImage | undefined> {
  const plain = names.volume(id)
  const info = await imageInfo(client, plain, ask)
  if (info !== undefined) return { image: plain, bytes: info.size }
  for (const keyBits of KEY_BITS) {
    const image = names.volume(id, keyBits)
    const sealed = await imageInfo(client, image, ask)
    if (sealed !== undefined) return { image, bytes: sealed.size - headerBytes(keyBits), keyBits }
  }
  return undefined
}

/** The image that a volume is. Throws `not-found` for one that is not there. */
export async function volumeImage(
  client: RbdClient,
  names: RbdNames,
  id: VolumeId,
  ask: Ask,
): Promise<VolumeImage> {
  const found = await findVolumeImage(client, names, id, ask)
  if (found === undefined) throw noVolume(id)
  return found
}

export function noVolume(id: VolumeId): Failure {
  return new Failure('not-found', `Volume ${id} could not be found in its store.`)
}

interface Listed {
  readonly image: string
  readonly size: number
  readonly snapshot?: string
}

/** The volumes that are whole, with their snapshots. */
export async function listVolumes(
  client: RbdClient,
  { prefix }: RbdNames,
  ask: Ask,
): Promise<readonly VolumeReport[]> {
  const all = await rbdJson<readonly Listed[]>(client, ['ls', '--long', client.pool], ask)
  const own = all.filter(({ image }) => volumeOf(image, prefix) !== undefined)
  const snapshots = Map.groupBy(
    own.filter(({ snapshot }) => snapshot !== undefined && isUuid(snapshot)),
    ({ image }) => image,
  )
  return own
    .filter(({ snapshot }) => snapshot === undefined)
    .map(({ image, size }) => {
      const { id, header } = volumeOf(image, prefix)!
      const kept = (snapshots.get(image) ?? []).map((each) => each.snapshot as VolumeSnapshotId)
      return { id, bytes: size - header, snapshots: kept }
    })
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
}

/** The volume that an image of this name is, and the bytes that are not its content; undefined: it is none. */
function volumeOf(image: string, prefix: string) {
  if (!image.startsWith(prefix)) return undefined
  const [id = '', luks, ...rest] = image.slice(prefix.length).split('.')
  if (!isUuid(id) || rest.length > 0) return undefined
  if (luks === undefined) return { id: id as VolumeId, header: 0 }
  const keyBits = KEY_BITS.find((each) => luks === `${LUKS}${each}`)
  return keyBits && { id: id as VolumeId, header: headerBytes(keyBits) }
}

/** The names of an image's snapshots; none for an image that is not there. */
export async function snapshotNames(
  client: RbdClient,
  image: string,
  ask: Ask,
): Promise<readonly string[]> {
  try {
    const args = ['snap', 'ls', specOf(client, image)]
    const all = await rbdJson<readonly { readonly name: string }[]>(client, args, ask)
    return all.map(({ name }) => name)
  } catch (error) {
    if (endedWith(error, EXIT.notFound)) return []
    throw error
  }
}

/** Afterwards the image has no such snapshot; images that show it keep their content. */
export async function removeSnapshot(
  client: RbdClient,
  image: string,
  snapshot: string,
  ask: Ask,
): Promise<void> {
  const args = ['snap', 'rm', '--no-progress', specOf(client, image, snapshot)]
  await rbd(client, args, { ...ask, tells: true }).catch((error: unknown) => {
    if (!endedWith(error, EXIT.notFound)) throw error
  })
}

/** Afterwards the image has a snapshot of this name, of now. Throws `not-found` as `absent` says. */
export async function snapshotNow(
  client: RbdClient,
  { image, snapshot, absent }: { image: string; snapshot: string; absent: () => Failure },
  ask: Ask,
): Promise<void> {
  // One that an earlier process left is of another moment.
  await removeSnapshot(client, image, snapshot, ask)
  await rbd(client, ['snap', 'create', '--no-progress', specOf(client, image, snapshot)], {
    ...ask,
    tells: true,
  }).catch((error: unknown) => {
    throw endedWith(error, EXIT.notFound) ? absent() : error
  })
}
