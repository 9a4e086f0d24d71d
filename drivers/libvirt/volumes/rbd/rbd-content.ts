import { Failure } from '#common/errors.ts'
import type { HostId, VolumeId } from '#common/ids.ts'
import type { ImageCache } from '../../../image-cache.ts'
import { imageVirtualSize } from '../../../image-header.ts'
import type { KeyedLock } from '../../../keyed-lock.ts'
import { copyInto } from '../../../qemu-img.ts'
import type { VolumeCopies } from '../../../volume-copies.ts'
import type { VolumeImage, VolumeSpec } from '../../../volumes.ts'
import { headerBytes } from '../encryption/luks-file.ts'
import { givenDisk } from '../given-disk.ts'
import { formatOfSource, inSectors } from '../store.ts'
import { type Ask, EXIT, endedWith, type RbdClient, rbd } from './rbd-client.ts'
import {
  type CopiedDisk,
  copyImage,
  inPool,
  type LuksWork,
  makeLuksImage,
} from './rbd-encryption.ts'
import { refuseHalfWritten } from './rbd-half-written.ts'
import {
  imageInfo,
  noVolume,
  type RbdNames,
  removeSnapshot,
  type VolumeImage as SourceImage,
  snapshotNames,
  snapshotNow,
  specOf,
  volumeImage,
} from './rbd-images.ts'
import { BASE, removeImage, removePart } from './rbd-remove.ts'

/** Reads go through each volume that one shows part of. */
const DEPTH_MAX = 4
const DEPTH = 'weir_depth'
const CLEAN_UP_MS = 30_000

export interface RbdWork extends LuksWork {
  readonly client: RbdClient
  readonly names: RbdNames
  readonly images: ImageCache
  readonly copies: VolumeCopies
  readonly hostId: HostId
  /** Held while this host brings an image into the pool, by its name there. */
  readonly bringing: KeyedLock<string>
}

/** Afterwards the volume, which was not there, is whole; a failure leaves no part of it. */
export async function makeVolume(work: RbdWork, spec: VolumeSpec, ask: Ask): Promise<void> {
  const { client, names } = work
  const { encryption } = spec
  const image = names.volume(spec.id, encryption?.keyBits)
  const header = encryption === undefined ? 0 : headerBytes(encryption.keyBits)
  const part = names.part(image)
  await removePart(client, names, part, ask)
  try {
    await fill(work, spec, part, ask)
    const { size } = (await imageInfo(client, part, ask))!
    const bytes = inSectors(Math.max(spec.bytes, size - header)) + header
    if (size < bytes) await resize(client, part, bytes, ask)
    await rbd(client, ['rename', specOf(client, part), specOf(client, image)], ask)
  } catch (error) {
    // The caller's signal may have ended the work.
    const own = { signal: AbortSignal.timeout(CLEAN_UP_MS) }
    await removeImage(client, names, part, own).catch(() => undefined)
    throw error
  }
}

export async function resize(
  client: RbdClient,
  image: string,
  bytes: number,
  ask: Ask,
): Promise<void> {
  const args = ['resize', '--no-progress', '--size', `${bytes}B`, specOf(client, image)]
  await rbd(client, args, { ...ask, tells: true })
}

async function fill(work: RbdWork, spec: VolumeSpec, part: string, ask: Ask): Promise<void> {
  const { client, names } = work
  const { id, from, encryption } = spec
  if (from === undefined) return makeTarget(work, spec, { part, bytes: 0 }, ask)
  if ('image' in from && encryption === undefined) return ofImage(work, from.image, part, ask)
  const given = await givenDisk(work, spec, ask.signal)
  if (given !== undefined) return copied(work, spec, { part, ...given }, ask)
  if (!('volume' in from)) throw new Error('A volume is made from what there is not')
  const source = await volumeImage(client, names, from.volume, ask)
  if ('snapshot' in from) return ofSnapshot(work, spec, { ...source, ...from, part }, ask)
  const { image } = source
  await refuseHalfWritten(client, { id: from.volume, image }, ask)
  const snapshot = `copy-${id}`
  await snapshotNow(client, { image, snapshot, absent: () => noVolume(from.volume) }, ask)
  try {
    await ofSnapshot(work, spec, { ...source, volume: from.volume, snapshot, part }, ask)
  } finally {
    await removeSnapshot(client, image, snapshot, ask)
  }
}

/** Afterwards `part` is there, empty, with at least so many bytes of content. */
async function makeTarget(
  work: RbdWork,
  spec: VolumeSpec,
  { part, bytes: least }: { readonly part: string; readonly bytes: number },
  ask: Ask,
): Promise<void> {
  const { id, encryption } = spec
  const bytes = inSectors(Math.max(spec.bytes, least))
  if (encryption === undefined) return createEmpty(work.client, part, bytes, ask)
  await makeLuksImage(work, work.client, { id, encryption, image: part, bytes }, ask)
}

/** Afterwards `part` has the content of a disk of so many bytes, of which it shares nothing: each key opens one volume. */
async function copied(
  work: RbdWork,
  spec: VolumeSpec,
  from: { readonly part: string; readonly disk: CopiedDisk; readonly bytes: number },
  ask: Ask,
): Promise<void> {
  await makeTarget(work, spec, from, ask)
  const sealed = spec.encryption !== undefined && { keyOf: spec.id }
  await copyImage(work, from.disk, { at: inPool(work.client, from.part), ...sealed }, ask)
}

async function createEmpty(
  client: RbdClient,
  image: string,
  bytes: number,
  ask: Ask,
): Promise<void> {
  await rbd(client, ['create', '--size', `${bytes}B`, specOf(client, image)], ask)
}

interface OfSnapshot extends Pick<SourceImage, 'image' | 'keyBits'> {
  readonly volume: VolumeId
  /** Its name in the pool. */
  readonly snapshot: string
  readonly part: string
}

/** A clone has the header of what it was cloned from, and so its key: what is encrypted is copied. */
async function ofSnapshot(
  work: RbdWork,
  spec: VolumeSpec,
  { image, keyBits, volume, snapshot, part }: OfSnapshot,
  ask: Ask,
): Promise<void> {
  const { client } = work
  const absent = (cause?: unknown) =>
    new Failure('not-found', `Snapshot ${snapshot} could not be found in its store.`, { cause })
  if (spec.encryption === undefined && keyBits === undefined) {
    await clone(client, { image, snapshot }, part, ask).catch((error: unknown) => {
      throw endedWith(error, EXIT.notFound) ? absent(error) : error
    })
    return flattenDeep(client, part, ask)
  }
  const info = await imageInfo(client, `${image}@${snapshot}`, ask)
  if (info === undefined) throw absent()
  const sealed = keyBits !== undefined && { keyOf: volume }
  const bytes = info.size - (keyBits === undefined ? 0 : headerBytes(keyBits))
  const disk = { at: inPool(client, image, snapshot), ...sealed }
  await copied(work, spec, { part, disk, bytes }, ask)
}

async function clone(
  client: RbdClient,
  { image, snapshot }: { readonly image: string; readonly snapshot: string },
  to: string,
  ask: Ask,
): Promise<void> {
  await rbd(client, ['clone', specOf(client, image, snapshot), specOf(client, to)], ask)
}

/** Afterwards the image shows at most so many others, one behind the other. It begins with the number of its source. */
async function flattenDeep(client: RbdClient, image: string, ask: Ask): Promise<void> {
  const spec = specOf(client, image)
  const known = await rbd(client, ['image-meta', 'get', spec, DEPTH], ask).catch(
    (error: unknown) => {
      if (endedWith(error, EXIT.notFound)) return '0'
      throw error
    },
  )
  const depth = Number(known) + 1
  if (depth > DEPTH_MAX)
    await rbd(client, ['flatten', '--no-progress', spec], { ...ask, isLong: true })
  await rbd(client, ['image-meta', 'set', spec, DEPTH, String(depth > DEPTH_MAX ? 0 : depth)], ask)
}

/** Of hosts that use the pool's copy of an image, and of others that find it unused, at the same time. */
const TRIES_MAX = 3

/** Afterwards `part` shows the pool's own copy of an image, which the first volume of it brings there. */
async function ofImage(work: RbdWork, image: VolumeImage, part: string, ask: Ask): Promise<void> {
  const { client, names, bringing } = work
  const name = names.image(image.sha256)
  for (let tries = 1; ; tries += 1) {
    await bringing.run(name, ask.signal, () => bringImage(work, image, name, ask))
    try {
      return await clone(client, { image: name, snapshot: BASE }, part, ask)
    } catch (error) {
      if (!endedWith(error, EXIT.notFound) || tries === TRIES_MAX) throw error
    }
  }
}

/** Afterwards the pool has the image under this name, unless another host removes it meanwhile. */
async function bringImage(
  { client, names, images, hostId }: RbdWork,
  image: VolumeImage,
  name: string,
  ask: Ask,
): Promise<void> {
  const format = formatOfSource(image)
  if ((await snapshotNames(client, name, ask)).includes(BASE)) return
  const path = await images.path(image, ask.signal)
  const bytes = inSectors(await imageVirtualSize(path, format))
  const part = names.part(`${name}-${hostId}`)
  // What an earlier process left, and what one left that was removing it.
  await removePart(client, names, part, ask)
  await removeImage(client, names, name, ask)
  try {
    await createEmpty(client, part, bytes, ask)
    // What is left of a process that has died would keep the part open.
    await copyInto({ path, format }, qemuTarget(client, part), ask.signal, { endsWithUs: true })
    await rbd(client, ['snap', 'create', '--no-progress', specOf(client, part, BASE)], ask)
    await rbd(client, ['rename', specOf(client, part), specOf(client, name)], ask)
  } catch (error) {
    const own = { signal: AbortSignal.timeout(CLEAN_UP_MS) }
    await removeImage(client, names, part, own).catch(() => undefined)
    // Another host has brought it.
    if (!endedWith(error, EXIT.exists)) throw error
  }
}

/** An image of the pool as QEMU's programs open it; in its options a comma stands twice. */
export function qemuTarget(client: RbdClient, image: string, snapshot?: string): string {
  return Object.entries(inPool(client, image, snapshot))
    .map(([name, value]) => `${name}=${value.replaceAll(',', ',,')}`)
    .join(',')
}
