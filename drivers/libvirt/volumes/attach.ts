import { setTimeout as sleep } from 'node:timers/promises'
import { Failure, isFailure } from '#common/errors.ts'
import type { AttachmentId, InstanceId } from '#common/ids.ts'
import type { InstanceSpec } from '../../driver.ts'
import type { AttachmentSpec } from '../../volumes.ts'
import { getOwnDomain } from '../domains/own-domains.ts'
import { filesOf, type LibvirtHost } from '../host.ts'
import { readInstanceRecord, writeInstanceRecord } from '../instance-record.ts'
import { isOff } from '../power.ts'
import { getInstanceRecord } from '../redefine.ts'
import type { DomainRef } from '../rpc/refs.ts'
import { renderXml } from '../xml/element.ts'
import { parseXml, type XmlTree } from '../xml/parse.ts'
import { releaseVolumes } from './admit-volumes.ts'
import { holdersOf, lockFailure } from './openers.ts'
import type { VolumeStore } from './store.ts'
import { type AttachedVolume, aliasOf, freeTarget, targetOf, volumeDisk } from './volume-device.ts'

/** A guest releases a disk when its kernel handles the request; a guest that still boots does not. */
const LET_GO_MS = 20_000
const ASK_AGAIN_MS = 5_000
const POLL_MS = 200

/**
 * Afterwards the instance has the volume. The record is ahead of the domain: so a definition that is made again, and the
 * destruction of a volume, know every volume that a guest may have.
 */
export function attachVolume(
  host: LibvirtHost,
  id: InstanceId,
  attachment: AttachmentSpec,
  signal: AbortSignal,
): Promise<string> {
  return host.locks.run(id, signal, async () => {
    const domain = await getOwnDomain(host.domains, host.owner, id, signal)
    const { volumes = [] } = await getInstanceRecord(host, id)
    await refuseSaved(host, domain, signal)
    const store = await host.openStore(attachment.store, signal)
    const volume = { ...attachment, ...(await store.sourceOf(attachment.id, signal)) }
    const isNew = volumes.every((each) => each.attachmentId !== attachment.attachmentId)
    await host.volumeLocks.run(volume.id, signal, async () => {
      await store.sizeOf(volume.id, signal)
      await refuseOtherHolders(host, id, volume, signal)
      await keepVolumes(host, id, isNew ? [...volumes, volume] : withVolume(volumes, volume))
    })
    try {
      return await plugIn(host, { domain, store, volume }, signal)
    } catch (error) {
      // Without an answer it is not known what there is, and the attach is asked for again.
      if (!isFailure(error, 'unavailable') && !signal.aborted)
        await takeBack(host, id, { domain, store, volume }, signal)
      throw lockFailure(error, volume.id)
    }
  })
}

/** Afterwards the instance does not have the volume. */
export function detachVolume(
  host: LibvirtHost,
  id: InstanceId,
  attachment: AttachmentId,
  signal: AbortSignal,
): Promise<void> {
  return host.locks.run(id, signal, async () => {
    const domain = await getOwnDomain(host.domains, host.owner, id, signal)
    const { volumes = [] } = await getInstanceRecord(host, id)
    const volume = volumes.find((each) => each.attachmentId === attachment)
    if (volume === undefined) return
    if (volume.isRoot === true)
      throw new Failure('conflict', `Instance ${id} starts from volume ${volume.id}.`)
    await refuseSaved(host, domain, signal)
    await keepVolumes(host, id, withVolume(volumes, { ...volume, isLeaving: true }))
    await unplug(host, domain, volume, signal)
    await releaseVolumes(host, [volume], signal)
    await keepVolumes(
      host,
      id,
      volumes.filter((each) => each !== volume),
    )
  })
}

/** Throws `conflict` for an instance that starts from a volume, and has no disk of its own that could be saved. */
export async function refuseRootVolume(host: LibvirtHost, id: InstanceId): Promise<void> {
  const { volumes = [] } = await getInstanceRecord(host, id)
  const root = volumes.find(({ isRoot }) => isRoot === true)
  if (root === undefined) return
  throw new Failure('conflict', `Instance ${id} starts from volume ${root.id}.`)
}

/** The volumes of an instance that is to be here, where they are. Throws `not-found` for a store that is not here. */
export async function locateVolumes(
  host: LibvirtHost,
  { volumes = [] }: InstanceSpec,
  signal: AbortSignal,
): Promise<readonly AttachedVolume[]> {
  const located: AttachedVolume[] = []
  for (const volume of volumes) {
    const store = await host.openStore(volume.store, signal)
    located.push({ ...volume, ...(await store.sourceOf(volume.id, signal)) })
  }
  return located
}

/**
 * Throws `not-found` for a volume that is not there, and `conflict` for one that another guest has. The record of the
 * instance names them already, so that of two that want one at the same time at most one gets it.
 */
export async function refuseTaken(
  host: LibvirtHost,
  id: InstanceId,
  volumes: readonly AttachedVolume[],
  signal: AbortSignal,
): Promise<void> {
  for (const volume of volumes)
    await host.volumeLocks.run(volume.id, signal, async () => {
      const store = await host.openStore(volume.store, signal)
      await store.sizeOf(volume.id, signal)
      await refuseOtherHolders(host, id, volume, signal)
      await store.admit(volume, signal)
    })
}

interface NewDisk {
  readonly domain: DomainRef
  readonly store: VolumeStore
  readonly volume: AttachedVolume
}

/** The guest first: what QEMU refuses is then in no definition. */
async function plugIn(
  host: LibvirtHost,
  { domain, store, volume }: NewDisk,
  signal: AbortSignal,
): Promise<string> {
  const { attachmentId } = volume
  const runs = !(await isOff(host, domain, signal))
  const stored = await storedDomain(host, domain, signal)
  const live = runs ? await liveDomain(host, domain, signal) : stored
  const known = targetOf(live, attachmentId) ?? targetOf(stored, attachmentId)
  const target = known ?? freeTarget(live, stored)
  const xml = renderXml(volumeDisk(volume, target))
  if (runs && targetOf(live, attachmentId) === undefined) {
    await store.admit(volume, signal)
    await host.disks.attach(domain, xml, 'guest', signal)
  }
  // Of a guest that is off no QEMU finds out who else has it.
  if (!runs && known === undefined) await store.reserve(volume, signal)
  if (targetOf(stored, attachmentId) === undefined)
    await host.disks.attach(domain, xml, 'definition', signal)
  return `/dev/${target}`
}

/**
 * Afterwards the instance does not have a volume that it could not be given. A guest that has got it is asked to release it,
 * and does not get it at its next start; once it has released it, that is reported.
 */
async function takeBack(
  host: LibvirtHost,
  id: InstanceId,
  { domain, store, volume }: NewDisk,
  signal: AbortSignal,
): Promise<void> {
  const { attachmentId } = volume
  const { volumes = [] } = await getInstanceRecord(host, id)
  const places = [await liveDomain(host, domain, signal), await storedDomain(host, domain, signal)]
  if (places.every((each) => targetOf(each, attachmentId) === undefined)) {
    await store.release(volume, signal)
    const others = volumes.filter((each) => each.attachmentId !== attachmentId)
    return keepVolumes(host, id, others)
  }
  await keepVolumes(host, id, withVolume(volumes, { ...volume, isLeaving: true }))
  await unplugStored(host, domain, volume, signal)
  await askToRelease(host, domain, volume, signal)
}

/** The definition first, and once: a request for both would fail once only the guest has it. */
async function unplug(
  host: LibvirtHost,
  domain: DomainRef,
  volume: AttachedVolume,
  signal: AbortSignal,
): Promise<void> {
  const { id, attachmentId } = volume
  await unplugStored(host, domain, volume, signal)
  const deadline = performance.now() + LET_GO_MS
  let askAt = 0
  while (targetOf(await liveDomain(host, domain, signal), attachmentId) !== undefined) {
    if (performance.now() > deadline)
      throw new Failure('conflict', `The guest does not release volume ${id}.`)
    if (performance.now() >= askAt) {
      await askToRelease(host, domain, volume, signal)
      askAt = performance.now() + ASK_AGAIN_MS
    }
    await sleep(POLL_MS, undefined, { signal })
  }
}

async function unplugStored(
  host: LibvirtHost,
  domain: DomainRef,
  { attachmentId }: AttachedVolume,
  signal: AbortSignal,
): Promise<void> {
  if (targetOf(await storedDomain(host, domain, signal), attachmentId) !== undefined)
    await host.disks.detach(domain, aliasOf(attachmentId), 'definition', signal)
}

async function askToRelease(
  host: LibvirtHost,
  domain: DomainRef,
  { attachmentId }: AttachedVolume,
  signal: AbortSignal,
): Promise<void> {
  await host.disks
    .detach(domain, aliasOf(attachmentId), 'guest', signal)
    .catch((error: unknown) => {
      // `conflict`: it was asked already, or went off.
      if (!isFailure(error, 'not-found', 'conflict')) throw error
    })
}

async function liveDomain(
  host: LibvirtHost,
  domain: DomainRef,
  signal: AbortSignal,
): Promise<XmlTree> {
  return parseXml(await host.devices.xml(domain, signal))
}

async function storedDomain(
  host: LibvirtHost,
  domain: DomainRef,
  signal: AbortSignal,
): Promise<XmlTree> {
  return parseXml(await host.disks.definition(domain, signal))
}

/** Throws `conflict` for a volume that another guest of this host has, unless both share it. */
export async function refuseOtherHolders(
  host: LibvirtHost,
  id: InstanceId,
  { id: volumeId, attachmentId, isShared }: AttachmentSpec,
  signal: AbortSignal,
): Promise<void> {
  const others = (await holdersOf(host, volumeId, signal)).filter(
    ({ instance, volume }) => instance !== id || volume.attachmentId !== attachmentId,
  )
  const other = others.find(({ volume }) => !volume.isShared || !isShared)
  if (other === undefined) return
  throw new Failure('conflict', `Instance ${other.instance} has volume ${volumeId}.`)
}

/** The volumes with one of them as it is now, in the same order. */
export function withVolume(
  volumes: readonly AttachedVolume[],
  changed: AttachedVolume,
): readonly AttachedVolume[] {
  return volumes.map((each) => (each.attachmentId === changed.attachmentId ? changed : each))
}

/** Throws `conflict` for an instance whose memory was saved, which goes with the disks there were then. */
export async function refuseSaved(
  host: LibvirtHost,
  domain: DomainRef,
  signal: AbortSignal,
): Promise<void> {
  if (await host.domains.isSaved(domain, signal))
    throw new Failure('conflict', 'The volumes of a suspended instance cannot be changed.')
}

/** Afterwards the record of an instance that is here names these volumes. */
export async function keepVolumes(
  host: LibvirtHost,
  id: InstanceId,
  volumes: readonly AttachedVolume[],
): Promise<void> {
  const files = filesOf(host, id)
  const record = await readInstanceRecord(files)
  if (record !== undefined) await writeInstanceRecord(files, { ...record, volumes })
}
