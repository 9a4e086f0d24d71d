import { rm } from 'node:fs/promises'
import type { InstanceId } from '#common/ids.ts'
import type { BackupChanges, SavedBackup } from '../backup-changes.ts'
import { copyChanges } from '../copy-changes.ts'
import { diskFile } from '../disk-file.ts'
import type { DiskImage } from '../driver.ts'
import { addBitmap, bitmapsOf, removeBacking, removeBitmap } from '../qemu-img.ts'
import { backUp } from './back-up.ts'
import { backupCalls } from './domains/backup-calls.ts'
import { checkpointCalls } from './domains/checkpoint-calls.ts'
import { monitorCalls } from './domains/monitor-calls.ts'
import { getOwnDomain } from './domains/own-domains.ts'
import { OFF, powerStateOf } from './domains/power-state.ts'
import { filesOf, type LibvirtHost } from './host.ts'
import type { DomainRef } from './rpc/refs.ts'
import { ROOT_TARGET, takeSnapshot } from './snapshot.ts'
import { refuseRootVolume } from './volumes/attach.ts'

/** Each is named after the backup since which it notes what is written. */
const PREFIX = 'weir-backup-'
const CLEAN_UP_MS = 10_000

type Take = Parameters<BackupChanges['take']>[1]

/**
 * Has QEMU note what guests write, in bitmaps of their root disks' own files, so that they go where the disks go. What has no
 * bitmap of that name has not been noted: a disk that was rebuilt, or came with its server from another cell.
 */
export function libvirtBackupChanges(host: LibvirtHost): BackupChanges {
  return {
    take: (id, asked, signal) =>
      host.locks.runPreemptible(id, signal, (lockSignal) => take(host, id, asked, lockSignal)),
    keep: (id, name, signal) => host.locks.run(id, signal, () => keep(host, id, name, signal)),
  }
}

/** The bitmaps of a root disk, of a guest that runs or is off. The caller holds the instance's lock. */
interface NotedDisk {
  /** Undefined: the guest is off. */
  readonly domain: DomainRef | undefined
  /** Names of backups since which it is noted what is written; `isKnown` is false where that was lost. */
  readonly bitmaps: readonly { readonly name: string; readonly isKnown: boolean }[]
  add(name: string): Promise<void>
  remove(name: string): Promise<void>
}

async function take(
  host: LibvirtHost,
  id: InstanceId,
  { name, since }: Take,
  signal: AbortSignal,
): Promise<SavedBackup> {
  await refuseRootVolume(host, id)
  const disk = await notedDisk(host, id, signal)
  // An interrupted try has begun it.
  if (disk.bitmaps.some((each) => each.name === name)) await disk.remove(name)
  const isKnown =
    disk.bitmaps.some((each) => each.name === since && each.isKnown) &&
    !(await hasLostJob(host, disk.domain, signal))
  // It begins before the copy does, so it may name parts that the copy has as well, and lacks none.
  await disk.add(name)
  try {
    if (since === null || !isKnown)
      return { disk: await takeSnapshot(host, id, signal), isWhole: true }
    return {
      disk: await takeChanges(host, id, disk.domain, PREFIX + since, signal),
      isWhole: false,
    }
  } catch (error) {
    const later = AbortSignal.timeout(CLEAN_UP_MS)
    const left = await notedDisk(host, id, later).catch(() => undefined)
    await left?.remove(name).catch(() => undefined)
    throw error
  }
}

/** Then its daemon copies whole disks only. */
async function hasLostJob(
  { session, slowSession }: LibvirtHost,
  domain: DomainRef | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  return domain !== undefined && backupCalls(session, slowSession).hasLostJob(domain, signal)
}

async function takeChanges(
  host: LibvirtHost,
  id: InstanceId,
  domain: DomainRef | undefined,
  bitmap: string,
  signal: AbortSignal,
): Promise<DiskImage> {
  const { rootDisk, snapshot: path } = filesOf(host, id)
  const remove = () => rm(path, { force: true })
  // Removes the file of an interrupted copy.
  await remove()
  try {
    if (domain === undefined) await copyChanges(rootDisk, bitmap, path, signal)
    else {
      await backUp(host, domain, { target: ROOT_TARGET, format: 'qcow2', path, bitmap }, signal)
      // libvirt puts them on top of the disk itself.
      await removeBacking(path, signal)
    }
    return await diskFile(path, 'qcow2')
  } catch (error) {
    await remove()
    throw error
  }
}

async function keep(
  host: LibvirtHost,
  id: InstanceId,
  kept: string | null,
  signal: AbortSignal,
): Promise<void> {
  await refuseRootVolume(host, id)
  const disk = await notedDisk(host, id, signal)
  for (const { name } of disk.bitmaps) if (name !== kept) await disk.remove(name)
}

async function notedDisk(
  host: LibvirtHost,
  id: InstanceId,
  signal: AbortSignal,
): Promise<NotedDisk> {
  const domain = await getOwnDomain(host.domains, host.owner, id, signal)
  const { rootDisk } = filesOf(host, id)
  const isOff = OFF.has(powerStateOf(await host.domains.state(domain, signal)))
  const monitor = monitorCalls(host.session)
  const node = isOff ? undefined : await monitor.diskOf(domain, rootDisk, signal)
  // A guest that has just ended has closed its disk, or is about to.
  if (node === undefined) return diskOfFile(rootDisk, signal)
  const known = new Set(node.usableBitmaps)
  const bitmaps = backupsOf(node.bitmaps.map((name) => ({ name, isKnown: known.has(name) })))
  const checkpoints = checkpointCalls(host.session)
  return {
    domain,
    bitmaps,
    add: (name) => monitor.addBitmap(domain, node.name, PREFIX + name, signal),
    async remove(name) {
      // A process that ended while it began a copy has left one.
      await checkpoints.forget(domain, PREFIX + name, signal)
      await monitor.removeBitmap(domain, node.name, PREFIX + name, signal)
    },
  }
}

async function diskOfFile(path: string, signal: AbortSignal): Promise<NotedDisk> {
  const found = await bitmapsOf(path, signal)
  return {
    domain: undefined,
    // One that is in use was not written down when QEMU ended.
    bitmaps: backupsOf(found.map(({ name, isInUse }) => ({ name, isKnown: !isInUse }))),
    add: (name) => addBitmap(path, PREFIX + name, signal),
    remove: (name) => removeBitmap(path, PREFIX + name, signal),
  }
}

function backupsOf(bitmaps: NotedDisk['bitmaps']): NotedDisk['bitmaps'] {
  return bitmaps.flatMap(({ name, isKnown }) =>
    name.startsWith(PREFIX) ? [{ name: name.slice(PREFIX.length), isKnown }] : [],
  )
}
