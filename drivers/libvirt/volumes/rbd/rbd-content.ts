import { Failure } from '#common/errors.ts'
import type { HostId, VolumeId, VolumeSnapshotId } from '#common/ids.ts'
import type { ImageCache } from '../../../image-cache.ts'
import { imageVirtualSize } from '../../../image-header.ts'
import type { KeyedLock } from '../../../keyed-lock.ts'
import { copyInto } from '../../../qemu-img.ts'
import type { VolumeImage, VolumeSpec } from '../../../volumes.ts'
import { formatOfSource, inSectors } from '../store.ts'
import { type Ask, EXIT, endedWith, type RbdClient, rbd } from './rbd-client.ts'
import {
  imageInfo,
  noVolume,
  type RbdNames,
  removeSnapshot,
  snapshotNames,
  snapshotNow,
  specOf,
} from './rbd-images.ts'
import { BASE, removeImage } from './rbd-remove.ts'

/** Reads go through each volume that one shows part of. */
const DEPTH_MAX = 4
const DEPTH = 'weir_depth'
const CLEAN_UP_MS = 30_000

export interface RbdWork {
  readonly client: RbdClient
  readonly names: RbdNames
  readonly images: ImageCache
  readonly hostId: HostId
  /** Held while this host brings an image into the pool, by its name there. */
  readonly bringing: KeyedLock<string>
}

/** Afterwards the volume, which was not there, is whole; a failure leaves no part of it. */
export async function makeVolume(work: RbdWork, spec: VolumeSpec, ask: Ask): Promise<void> {
  const { client, names } = work
  const image = names.volume(spec.id)
  const part = names.part(image)
  await removeImage(client, names, part, ask)
  try {
    await fill(work, spec, part, ask)
    const { size } = (await imageInfo(client, part, ask))!
    const bytes = inSectors(Math.max(spec.bytes, size))
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
  await rbd(client, ['resize', '--no-progress', '--size', `${bytes}B`, specOf(client, image)], ask)
}

async function fill(
  work: RbdWork,
  { id, bytes, from }: VolumeSpec,
  part: string,
  ask: Ask,
): Promise<void> {
  const { client } = work
  if (from === undefined) return createEmpty(client, part, inSectors(bytes), ask)
  if ('image' in from) {
    return ofImage(work, from.image, part, ask)
  }
  if ('snapshot' in from) return ofSnapshot(work, from, part, ask)
  const image = work.names.volume(from.volume)
  const snapshot = `copy-${id}`
  await snapshotNow(client, { image, snapshot, absent: () => noVolume(from.volume) }, ask)
  try {
    await clone(client, { image, snapshot }, part, ask)
    await flattenDeep(client, part, ask)
  } finally {
    await removeSnapshot(client, image, snapshot, ask)
  }
}

async function createEmpty(
  client: RbdClient,
  image: string,
  bytes: number,
  ask: Ask,
): Promise<void> {
  await rbd(client, ['create', '--size', `${bytes}B`, specOf(client, image)], ask)
}

async function ofSnapshot(
  { client, names }: RbdWork,
  from: { readonly volume: VolumeId; readonly snapshot: VolumeSnapshotId },
  part: string,
  ask: Ask,
): Promise<void> {
  const source = { image: names.volume(from.volume), snapshot: from.snapshot }
  await clone(client, source, part, ask).catch((error: unknown) => {
    if (!endedWith(error, EXIT.notFound)) throw error
    const message = `Snapshot ${from.snapshot} could not be found in its store.`
    throw new Failure('not-found', message, { cause: error })
  })
  await flattenDeep(client, part, ask)
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
  for (const each of [part, name]) await removeImage(client, names, each, ask)
  try {
    await createEmpty(client, part, bytes, ask)
    await copyInto({ path, format }, qemuTarget(client, part), ask.signal)
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
export function qemuTarget(
  { pool, user, configuration }: RbdClient,
  image: string,
  snapshot?: string,
): string {
  const options = { driver: 'rbd', pool, image, snapshot, user, conf: configuration }
  return Object.entries(options)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${value!.replaceAll(',', ',,')}`)
    .join(',')
}
