import { Failure, isFailure } from '#common/errors.ts'
import type { ImageSpec } from '../../driver.ts'
import type { VolumeImage, VolumeSpec } from '../../volumes.ts'
import type { NestedHost } from '../host.ts'
import { volumeName } from '../names.ts'
import {
  actOnVolume,
  type CloudVolume,
  GIB,
  getSnapshot,
  getVolume,
  isBusy,
  isInStore,
  isWhole,
  markWhole,
  ShownVolume,
  untilRest,
  volumeMarks,
  volumesOf,
  workFailure,
} from './cloud-volume.ts'
import { removeVolume } from './remove.ts'
import { typeOfStore, zoneForVolumes } from './stores.ts'

/** A volume in use is extended since then. */
const EXTENDED_IN_USE_SINCE = '3.42'

/**
 * Afterwards the volume is there, whole and of at least that size. What an earlier try has made is taken; what was not made
 * whole is removed; of what requests made whose answers were lost, one is left.
 */
export async function createVolume(
  host: NestedHost,
  spec: VolumeSpec,
  signal: AbortSignal,
): Promise<void> {
  const type = await typeOfStore(host, spec.store, signal)
  // The cloud alone would have the key.
  if (spec.encryption !== undefined)
    throw new Failure('unsupported', 'Volumes of another cloud are not encrypted from here.')
  const content = await contentOf(host, spec, signal)
  const wanted = await takeOrAsk(host, spec, signal, () =>
    request(host, spec, type, content, signal),
  )
  const made = isBusy(wanted) ? await untilRest(host, 'volumes', wanted, signal) : wanted
  if (made === undefined)
    throw new Failure('internal', 'The nested cloud has removed the volume while it was made.')
  if (isWhole(made)) return growVolume(host, made, spec.bytes, signal)
  if (made.status !== 'available') {
    const failure = await workFailure(host, 'make the volume', made, signal)
    await removeVolume(host, made, signal)
    throw failure
  }
  await growVolume(host, made, spec.bytes, signal)
  await markWhole(host, made, signal)
}

/** What is there of the volume; asked for where nothing is that could become it. */
async function takeOrAsk(
  host: NestedHost,
  { store, id }: VolumeSpec,
  signal: AbortSignal,
  ask: () => Promise<CloudVolume>,
): Promise<CloudVolume> {
  const all = await volumesOf(host, id, signal)
  const found = all.filter((volume) => isInStore(volume, store))
  const usable = found.filter(
    (each) => isWhole(each) || isBusy(each) || each.status === 'available',
  )
  const there = usable.filter(({ status }) => status !== 'deleting')
  const kept = there.find(isWhole) ?? there[0]
  for (const other of found) if (other !== kept) await removeVolume(host, other, signal)
  if (kept === undefined) return ask()
  await host.pendingCreates.forget(id)
  return kept
}

/** GiB and, as fields of the request, where the content comes from. */
interface Content {
  readonly sizeGb: number
  readonly source: object
}

/** Throws `not-found` for a source there is not. */
async function contentOf(
  host: NestedHost,
  { store, bytes, from }: VolumeSpec,
  signal: AbortSignal,
): Promise<Content> {
  const sizeGb = Math.max(1, Math.ceil(bytes / GIB))
  if (from === undefined) return { sizeGb, source: {} }
  if ('image' in from) {
    const imageRef = await host.images.ensure(withLabels(from.image), signal)
    const imageGb = Math.ceil(from.image.sizeBytes / GIB)
    return { sizeGb: Math.max(sizeGb, imageGb), source: { imageRef } }
  }
  if ('copy' in from || 'sealedImage' in from)
    throw new Failure(
      'unsupported',
      'Volumes of another cloud are not encrypted, and its own Block Storage moves them between its stores.',
    )
  const volume = await getVolume(host, { store, id: from.volume }, signal)
  const atLeast = Math.max(sizeGb, volume.size)
  if (!('snapshot' in from)) return { sizeGb: atLeast, source: { source_volid: volume.id } }
  const snapshot = await getSnapshot(host, volume, from.snapshot, signal)
  return { sizeGb: Math.max(sizeGb, snapshot.size), source: { snapshot_id: snapshot.id } }
}

/** Servers are later built from the same copy, so one without properties would harm them. */
export function withLabels(image: VolumeImage): ImageSpec {
  const { name, minDiskGb, minRamMb, properties } = image
  if (
    name === undefined ||
    minDiskGb === undefined ||
    minRamMb === undefined ||
    properties === undefined
  )
    throw new Failure(
      'unsupported',
      'The gateway is older than this host: it does not say which properties the image has.',
    )
  return { ...image, name, minDiskGb, minRamMb, properties }
}

async function request(
  host: NestedHost,
  spec: VolumeSpec,
  type: string | null,
  { sizeGb, source }: Content,
  signal: AbortSignal,
): Promise<CloudVolume> {
  const zone = await zoneForVolumes(host, signal)
  const body = {
    volume: {
      name: volumeName(spec.id),
      size: sizeGb,
      metadata: volumeMarks(host, spec),
      ...(type === null ? {} : { volume_type: type }),
      ...(zone === undefined ? {} : { availability_zone: zone }),
      ...source,
    },
  }
  return host.pendingCreates.send(spec.id, 'volume', signal, async (key) => {
    const asked = { body, headers: { 'idempotency-key': key }, signal, isUncut: true }
    return (await host.cloud.ask(ShownVolume, 'volume', 'POST', '/volumes', asked)).body.volume
  })
}

/** Afterwards the volume has at least that size, also for a server that has it. */
export async function growVolume(
  host: NestedHost,
  volume: CloudVolume,
  bytes: number,
  signal: AbortSignal,
): Promise<void> {
  const sizeGb = Math.ceil(bytes / GIB)
  if (sizeGb <= volume.size) return
  const isUsed = volume.attachments.length > 0
  const body = { 'os-extend': { new_size: sizeGb } }
  const asked = { signal, ...(isUsed && { microversion: EXTENDED_IN_USE_SINCE }) }
  const after = await actOnVolume(host, volume, body, asked).catch((error: unknown) => {
    if (!isFailure(error, 'unsupported')) throw error
    throw new Failure('unsupported', 'The nested cloud extends no volume that a server uses.', {
      cause: error,
      ...(error.detail !== undefined && { detail: error.detail }),
    })
  })
  if (after.size < sizeGb) throw await workFailure(host, 'extend the volume', after, signal)
}
