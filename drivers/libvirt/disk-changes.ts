import { rm } from 'node:fs/promises'
import { Failure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import { copyChanges } from '../copy-changes.ts'
import { diskFile } from '../disk-file.ts'
import type { DiskImage } from '../driver.ts'
import { bitmapsOf, removeBitmap } from '../qemu-img.ts'
import type { DiskChanges } from '../snapshot.ts'
import { monitorCalls } from './domains/monitor-calls.ts'
import { getOwnDomain } from './domains/own-domains.ts'
import { OFF, powerStateOf } from './domains/power-state.ts'
import { filesOf, type LibvirtHost } from './host.ts'
import type { DomainRef } from './rpc/refs.ts'
import { takeSnapshot } from './snapshot.ts'
import { refuseRootVolume } from './volumes/attach.ts'

/** In the root disk's own file, so that it goes where the disk goes. */
const BITMAP = 'weir-changes'
const CLEAN_UP_MS = 10_000

/** Has QEMU note what guests write, in a bitmap of the disk, and copies these parts once the guest is off. */
export function libvirtDiskChanges(host: LibvirtHost): DiskChanges {
  return {
    begin: (id, signal) =>
      host.locks.runPreemptible(id, signal, (lockSignal) => begin(host, id, lockSignal)),
    take: (id, signal) =>
      host.locks.runPreemptible(id, signal, (lockSignal) => take(host, id, lockSignal)),
    forget: (id, signal) => host.locks.run(id, signal, () => forget(host, id, signal)),
  }
}

async function begin(host: LibvirtHost, id: InstanceId, signal: AbortSignal): Promise<DiskImage> {
  const domain = await getOwnDomain(host.domains, host.owner, id, signal)
  await refuseRootVolume(host, id)
  if (await isOff(host, domain, signal))
    throw new Failure('conflict', `Instance ${id} does not run, so its disk is saved as a whole.`)
  await forget(host, id, signal)
  const monitor = monitorCalls(host.session)
  const disk = await monitor.diskOf(domain, filesOf(host, id).rootDisk, signal)
  if (disk === undefined)
    throw new Failure('internal', `Instance ${id} has not opened its root disk.`)
  // It begins before the copy does, so it may name parts that the copy has as well, and lacks none.
  await monitor.addBitmap(domain, disk.name, BITMAP, signal)
  try {
    return await takeSnapshot(host, id, signal)
  } catch (error) {
    await forget(host, id, AbortSignal.timeout(CLEAN_UP_MS)).catch(() => undefined)
    throw error
  }
}

async function take(host: LibvirtHost, id: InstanceId, signal: AbortSignal): Promise<DiskImage> {
  const domain = await getOwnDomain(host.domains, host.owner, id, signal)
  await refuseRootVolume(host, id)
  if (!(await isOff(host, domain, signal)))
    throw new Failure('conflict', `Instance ${id} still runs and goes on writing its disk.`)
  const { rootDisk, changes } = filesOf(host, id)
  // One that is in use was not written down when QEMU ended.
  const bitmap = (await bitmapsOf(rootDisk, signal)).find(({ name }) => name === BITMAP)
  if (bitmap === undefined || bitmap.isInUse)
    throw new Failure(
      'conflict',
      `It is not known what instance ${id} has written since its disk was saved.`,
    )
  const remove = () => rm(changes, { force: true })
  // Removes the file of an interrupted copy.
  await remove()
  try {
    await copyChanges(rootDisk, BITMAP, changes, signal)
    return await diskFile(changes, 'qcow2')
  } catch (error) {
    await remove()
    throw error
  }
}

/** The caller holds the instance's lock. */
async function forget(host: LibvirtHost, id: InstanceId, signal: AbortSignal): Promise<void> {
  const domain = await getOwnDomain(host.domains, host.owner, id, signal)
  await refuseRootVolume(host, id)
  const { rootDisk } = filesOf(host, id)
  if (await isOff(host, domain, signal)) {
    const bitmaps = await bitmapsOf(rootDisk, signal)
    if (bitmaps.some(({ name }) => name === BITMAP)) await removeBitmap(rootDisk, BITMAP, signal)
    return
  }
  const monitor = monitorCalls(host.session)
  const disk = await monitor.diskOf(domain, rootDisk, signal)
  if (disk?.bitmaps.includes(BITMAP) === true)
    await monitor.removeBitmap(domain, disk.name, BITMAP, signal)
}

async function isOff(
  { domains }: LibvirtHost,
  domain: DomainRef,
  signal: AbortSignal,
): Promise<boolean> {
  return OFF.has(powerStateOf(await domains.state(domain, signal)))
}
