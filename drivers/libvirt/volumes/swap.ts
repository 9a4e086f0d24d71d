import { setTimeout as sleep } from 'node:timers/promises'
import { Failure, isFailure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import type { AttachmentSpec, VolumeSwap } from '../../volumes.ts'
import { mirrorCalls } from '../domains/mirror-calls.ts'
import { findOwnDomain, getOwnDomain } from '../domains/own-domains.ts'
import { powerStateOf } from '../domains/power-state.ts'
import type { LibvirtHost } from '../host.ts'
import { isOff } from '../power.ts'
import { getInstanceRecord } from '../redefine.ts'
import type { DomainRef } from '../rpc/refs.ts'
import { element, renderXml } from '../xml/element.ts'
import { releaseVolumes } from './admit-volumes.ts'
import { keepVolumes, refuseOtherHolders, refuseSaved, withVolume } from './attach.ts'
import { lockFailure } from './openers.ts'
import { placesOf, redefineDisk } from './swapped-disk.ts'
import {
  type AttachedVolume,
  isFile,
  sourceElement,
  type VolumeSwapRecord,
} from './volume-device.ts'

const POLL_MS = 200

/** A volume of a guest on its way to another one. */
interface Swapping {
  readonly id: InstanceId
  readonly domain: DomainRef
  readonly volume: AttachedVolume
  readonly swap: VolumeSwapRecord
}

/**
 * QEMU writes the other volume beside the first (libvirt's block copy) until both are the same. The guest is paused for the moment in
 * which definition and QEMU change over: whichever volume it has after any process has died then, the other has no other byte. The
 * record names both volumes from before the copy until after that.
 */
export function libvirtSwap(host: LibvirtHost): VolumeSwap {
  return {
    copy: (id, to, signal) =>
      host.locks.runPreemptible(id, signal, async (lockSignal) => {
        const domain = await getOwnDomain(host.domains, host.owner, id, lockSignal)
        const volume = await volumeOf(host, id, to)
        if (volume.id === to.id) return
        const swapping = await begun(host, { id, domain, volume }, to, lockSignal)
        await orLetGo(host, swapping, lockSignal, () => copy(host, swapping, lockSignal))
      }),
    pivot: (id, to, signal) =>
      host.locks.runPreemptible(id, signal, async (lockSignal) => {
        const domain = await getOwnDomain(host.domains, host.owner, id, lockSignal)
        const volume = await volumeOf(host, id, to)
        if (volume.id === to.id && volume.swap === undefined) return
        const { swap } = volume
        if (swap?.to.id !== to.id) throw notCopied(to)
        const swapping = { id, domain, volume, swap }
        await orLetGo(host, swapping, lockSignal, () => pivot(host, swapping, lockSignal))
        await finish(host, swapping, lockSignal)
      }),
    cancel: (id, to, signal) =>
      host.locks.run(id, signal, async () => {
        const domain = await findOwnDomain(host.domains, host.owner, id, signal)
        if (domain === undefined) return
        const volume = await volumeOf(host, id, to).catch((error: unknown) => {
          if (isFailure(error, 'not-found')) return undefined
          throw error
        })
        if (volume === undefined) return
        if (volume.id === to.id)
          throw new Failure('conflict', `Instance ${id} has volume ${to.id} already.`)
        const { swap } = volume
        if (swap !== undefined) await letGo(host, { id, domain, volume, swap }, signal)
      }),
  }
}

async function volumeOf(
  host: LibvirtHost,
  id: InstanceId,
  { attachmentId }: AttachmentSpec,
): Promise<AttachedVolume> {
  const { volumes = [] } = await getInstanceRecord(host, id)
  const volume = volumes.find((each) => each.attachmentId === attachmentId)
  if (volume === undefined)
    throw new Failure('not-found', `Instance ${id} has no attachment ${attachmentId}.`)
  if (volume.isLeaving === true)
    throw new Failure('conflict', `The guest is asked to release volume ${volume.id}.`)
  return volume
}

/** Afterwards the record names the other volume too, which keeps other guests from it. An earlier swap to another volume is ended. */
async function begun(
  host: LibvirtHost,
  { id, domain, volume }: Omit<Swapping, 'swap'>,
  to: AttachmentSpec,
  signal: AbortSignal,
): Promise<Swapping> {
  const { swap } = volume
  if (swap?.to.id === to.id) return { id, domain, volume, swap }
  if (swap !== undefined) await letGo(host, { id, domain, volume, swap }, signal)
  await refuseSaved(host, domain, signal)
  const places = await placesOf(host, domain, volume, signal)
  if (places.target === undefined) throw notRunning(id)
  const store = await host.openStore(to.store, signal)
  const { tag, isRoot } = volume
  const next: AttachedVolume = {
    ...{ ...to, ...(tag !== undefined && { tag }), ...(isRoot && { isRoot }) },
    ...(await store.sourceOf(to.id, signal)),
  }
  const plain: AttachedVolume = withoutSwap(volume)
  await host.volumeLocks.run(to.id, signal, async () => {
    const bytes = await store.sizeOf(to.id, signal)
    const needed = await host.disks.size(domain, places.target!, signal)
    refuseOtherSize({ ...next, bytes }, { ...volume, bytes: needed })
    if (next.isEncrypted === true) host.keyring.keyOf(to.id)
    await refuseOtherHolders(host, id, next, signal)
    await change(host, id, { ...plain, swap: { to: next } })
  })
  return { id, domain, volume: plain, swap: { to: next } }
}

/** Begins the copy if it has not begun, and waits until both volumes are the same. */
async function copy(host: LibvirtHost, swapping: Swapping, signal: AbortSignal): Promise<void> {
  const { id, domain, volume, swap } = swapping
  const { to } = swap
  const places = await placesOf(host, domain, volume, signal)
  if (places.target === undefined) throw notRunning(id)
  if (places.live === to.path) return
  const calls = mirrorCalls(host.session, host.slowSession)
  if ((await calls.state(domain, places.target, signal)) === 'none') {
    // A process that died may have left the definition changed; the guest has the first volume.
    if (places.stored === to.path) await redefineDisk(host, domain, volume, signal)
    const store = await host.openStore(to.store, signal)
    await store.admit(to, signal)
    const bytes = await host.disks.size(domain, places.target, signal)
    const isLarger = (await store.sizeOf(to.id, signal)) > bytes
    const xml = copyXml(to, isLarger ? bytes : undefined)
    const disk = { target: places.target, xml, isThere: true, isSynchronous: true }
    await calls.begin(domain, disk, signal).catch((error: unknown) => {
      throw lockFailure(error, to.id)
    })
  }
  await untilReady(host, swapping, places.target, signal)
}

async function untilReady(
  host: LibvirtHost,
  { id, domain, swap }: Swapping,
  target: string,
  signal: AbortSignal,
): Promise<void> {
  const calls = mirrorCalls(host.session, host.slowSession)
  for (;;) {
    const state = await calls.state(domain, target, signal)
    if (state === 'ready') return
    if (state === 'none') {
      throw (await isOff(host, domain, signal)) ? notRunning(id) : notCopied(swap.to)
    }
    await sleep(POLL_MS, undefined, { signal })
  }
}

/** Afterwards QEMU has the other volume, or the guest is off with a definition that has it. */
async function pivot(host: LibvirtHost, swapping: Swapping, signal: AbortSignal): Promise<void> {
  const { id, domain, volume, swap } = swapping
  const { to } = swap
  const { target, live, stored } = await placesOf(host, domain, volume, signal)
  if (live === to.path) return
  if (target === undefined) {
    // It ended while it was paused, when both volumes were the same.
    if (stored === to.path) return
    throw notRunning(id)
  }
  await untilReady(host, swapping, target, signal)
  await pause(host, swapping, signal)
  const calls = mirrorCalls(host.session, host.slowSession)
  if ((await calls.state(domain, target, signal)) !== 'ready') throw notCopied(to)
  await redefineDisk(host, domain, to, signal)
  try {
    await calls.pivot(domain, target, signal)
  } catch (error) {
    if (isFailure(error, 'unavailable') || signal.aborted) throw error
    const now = await placesOf(host, domain, volume, signal)
    if (now.live !== to.path && now.target !== undefined) throw error
  }
}

/** Pauses a guest that runs, and notes before that it is to run again. What QEMU has in flight is then on both volumes. */
async function pause(
  host: LibvirtHost,
  { id, domain, volume, swap }: Swapping,
  signal: AbortSignal,
): Promise<void> {
  if (powerStateOf(await host.domains.state(domain, signal)) !== 'running') return
  await change(host, id, { ...volume, swap: { ...swap, pausesGuest: true } })
  host.changingOver.add(id)
  await host.domains.suspend(domain, signal)
}

/** Afterwards the guest runs again if the swap has paused it. */
async function goOn(
  host: LibvirtHost,
  { id, domain, volume }: Pick<Swapping, 'id' | 'domain' | 'volume'>,
  signal: AbortSignal,
): Promise<void> {
  const { volumes = [] } = await getInstanceRecord(host, id)
  const now = volumes.find(({ attachmentId }) => attachmentId === volume.attachmentId)
  if (now?.swap?.pausesGuest === true) {
    if (powerStateOf(await host.domains.state(domain, signal)) === 'paused')
      await host.domains.resume(domain, signal)
  }
  host.changingOver.delete(id)
}

/** The guest has the other volume, and what is left to do is repeated until it is done. */
async function finish(host: LibvirtHost, swapping: Swapping, signal: AbortSignal): Promise<void> {
  const { id, domain, volume, swap } = swapping
  const { to } = swap
  try {
    const { stored } = await placesOf(host, domain, volume, signal)
    if (stored !== to.path) await redefineDisk(host, domain, to, signal)
    await goOn(host, swapping, signal)
    await releaseVolumes(host, [withoutSwap(volume)], signal)
    await change(host, id, to)
  } catch (cause) {
    if (isFailure(cause, 'unavailable')) throw cause
    throw new Failure(
      'unavailable',
      `Instance ${id} has volume ${to.id}, and is still being told.`,
      {
        cause,
      },
    )
  }
}

/** Does it; after a failure, but for an unknown outcome, the guest has its volume alone. */
async function orLetGo(
  host: LibvirtHost,
  swapping: Swapping,
  signal: AbortSignal,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!isFailure(error, 'unavailable') && !signal.aborted) await letGo(host, swapping, signal)
    throw error
  }
}

/** Afterwards the guest has its volume alone, and no other guest is kept from the other one. */
async function letGo(host: LibvirtHost, swapping: Swapping, signal: AbortSignal): Promise<void> {
  const { id, domain, volume, swap } = swapping
  try {
    const { target, live, stored } = await placesOf(host, domain, volume, signal)
    if (live === swap.to.path)
      throw new Failure('conflict', `Instance ${id} has volume ${swap.to.id} already.`)
    if (stored === swap.to.path) await redefineDisk(host, domain, volume, signal)
    const calls = mirrorCalls(host.session, host.slowSession)
    if (target !== undefined && (await calls.state(domain, target, signal)) !== 'none')
      await calls.end(domain, target, signal)
    await goOn(host, swapping, signal)
    await releaseVolumes(host, [swap.to], signal)
    await change(host, id, withoutSwap(volume))
  } catch (cause) {
    if (isFailure(cause, 'unavailable', 'conflict')) throw cause
    // Until it is known to be let go, the outcome is not.
    throw new Failure('unavailable', `Volume ${swap.to.id} could not be let go.`, { cause })
  }
}

function withoutSwap({ swap: _swap, ...volume }: AttachedVolume): AttachedVolume {
  return volume
}

async function change(host: LibvirtHost, id: InstanceId, volume: AttachedVolume): Promise<void> {
  const { volumes = [] } = await getInstanceRecord(host, id)
  await keepVolumes(host, id, withVolume(volumes, volume))
}

type Sized = AttachedVolume & { readonly bytes: number }

/** Throws `invalid` for a volume that is smaller, and for an encrypted one that is larger: QEMU copies disks of one size. */
function refuseOtherSize(to: Sized, from: Sized): void {
  const sizes = `Volume ${to.id} has ${to.bytes} bytes, and volume ${from.id} has ${from.bytes}`
  if (to.bytes < from.bytes) throw new Failure('invalid', `${sizes}.`)
  if (to.bytes > from.bytes && to.isEncrypted === true)
    throw new Failure('invalid', `${sizes}: an encrypted volume has to be as large as the other.`)
}

/**
 * The other volume as QEMU is to write it. It copies disks of one size: of a larger volume it sees `onlyBytes` until the guest starts
 * again.
 */
function copyXml(to: AttachedVolume, onlyBytes: number | undefined): string {
  const type = isFile(to) ? 'file' : 'network'
  const driver = element('driver', { name: 'qemu', type: 'raw' })
  return renderXml(element('disk', { type, device: 'disk' }, driver, sourceElement(to, onlyBytes)))
}

function notRunning(id: InstanceId): Failure {
  return new Failure(
    'conflict',
    `Instance ${id} is not running, and only a guest that runs changes its volume for another.`,
  )
}

function notCopied({ id }: Pick<AttachmentSpec, 'id'>): Failure {
  return new Failure('conflict', `The copy to volume ${id} has ended before both were the same.`)
}
