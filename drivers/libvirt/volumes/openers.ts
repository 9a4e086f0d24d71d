import { Failure, isFailure } from '#common/errors.ts'
import type { InstanceId, VolumeId } from '#common/ids.ts'
import { run } from '../../run.ts'
import type { VolumeRef } from '../../volumes.ts'
import { findOwnDomain } from '../domains/own-domains.ts'
import type { LibvirtHost } from '../host.ts'
import { listInstanceRecords } from '../instance-record.ts'
import { isOff } from '../power.ts'
import type { DomainRef } from '../rpc/refs.ts'
import { attributeAt, parseXml } from '../xml/parse.ts'
import type { VolumeStore } from './store.ts'
import { type AttachedVolume, diskOf, isPart, targetOf, withSwapped } from './volume-device.ts'

const PROBE_MS = 20_000

/** An instance of this host that has a volume, now or at its next start. */
export interface Holder {
  readonly instance: InstanceId
  readonly volume: AttachedVolume
}

/** The instances of this host that have the volume. */
export async function holdersOf(
  host: LibvirtHost,
  id: VolumeId,
  signal: AbortSignal,
): Promise<readonly Holder[]> {
  const holders: Holder[] = []
  for (const [instance, { volumes = [] }] of await listInstanceRecords(host.stateDirectory))
    for (const volume of withSwapped(volumes))
      if (volume.id === id && !(await isReleased(host, { instance, volume }, signal)))
        holders.push({ instance, volume })
  return holders
}

/** Whether the guest has let a volume go that it was asked for, by itself or because it has ended. */
export async function isReleased(
  host: LibvirtHost,
  { instance, volume }: Holder,
  signal: AbortSignal,
): Promise<boolean> {
  if (volume.isLeaving !== true) return false
  const domain = await findOwnDomain(host.domains, host.owner, instance, signal)
  if (domain === undefined) return false
  // The memory that was saved goes with it.
  if (await host.domains.isSaved(domain, signal)) return false
  const xml = parseXml(await host.devices.xml(domain, signal))
  const stored = parseXml(await host.disks.definition(domain, signal))
  return [xml, stored].every((each) => targetOf(each, volume.attachmentId) === undefined)
}

/** A guest that has a volume open. */
export interface OpenDisk extends Holder {
  readonly domain: DomainRef
  readonly target: string
  /** QEMU sees a part of fixed size of what the store has. */
  readonly isPart: boolean
}

/** The guests of this host that have the volume open. */
export async function openDisksOf(
  host: LibvirtHost,
  id: VolumeId,
  signal: AbortSignal,
): Promise<readonly OpenDisk[]> {
  const disks = (await holdersOf(host, id, signal)).map(async (holder) => {
    const { domains, owner } = host
    const domain = await findOwnDomain(domains, owner, holder.instance, signal)
    if (domain === undefined || (await isOff(host, domain, signal))) return []
    const xml = parseXml(await host.devices.xml(domain, signal))
    const disk = diskOf(xml, holder.volume.attachmentId)
    if (disk === undefined) return []
    const target = attributeAt(disk, 'dev', 'target')
    return [{ ...holder, domain, target, isPart: isPart(disk) }]
  })
  return (await Promise.all(disks)).flat()
}

/** Throws `conflict` while a guest, on whichever host, has the file open: QEMU locks it. */
export async function refuseLocked(path: string, id: VolumeId, signal: AbortSignal): Promise<void> {
  // The file itself is opened, without a key, also of an encrypted volume.
  const args = ['-f', 'raw', '-c', 'quit', path]
  await run('qemu-io', args, { timeoutMs: PROBE_MS, signal }).catch((error: unknown) => {
    throw lockFailure(error, id)
  })
}

/** QEMU says it with these words alone (block/file-posix.c). */
const LOCKED = /Failed to (get|lock)|Is another process using the image/
/** The same, where the file system could not lock, such as NFS without its service for that. */
const NOT_LOCKABLE = /Failed to lock byte \d+: (?!Resource temporarily unavailable)/

/** `conflict` for a file that QEMU does not open because another guest has it; any other error as it is. */
export function lockFailure(error: unknown, id: VolumeId): unknown {
  if (!isFailure(error, 'internal')) return error
  const said = error.detail ?? ''
  if (!LOCKED.test(said) || NOT_LOCKABLE.test(said)) return error
  return new Failure('conflict', `Another guest has volume ${id} open.`, { cause: error })
}

/** Throws `conflict` while a guest has the volume, here or elsewhere. */
export async function refuseUsed(
  host: LibvirtHost,
  store: VolumeStore,
  { store: storeId, id }: VolumeRef,
  signal: AbortSignal,
): Promise<void> {
  // A guest may have it in the store to which it has moved.
  const holders = await holdersOf(host, id, signal)
  const holder = holders.find(({ volume }) => volume.store === storeId)
  if (holder !== undefined)
    throw new Failure('conflict', `Instance ${holder.instance} has volume ${id}.`)
  await store.refuseOpen(id, signal)
}
