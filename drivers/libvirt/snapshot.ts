import { createReadStream } from 'node:fs'
import { rm, stat } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { Failure } from '#common/errors.ts'
import type { InstanceId, VolumeId } from '#common/ids.ts'
import type { DiskImage } from '../driver.ts'
import { copyWhole } from '../qemu-img.ts'
import type { Snapshot } from '../snapshot.ts'
import { backupCalls } from './domains/backup-calls.ts'
import { getOwnDomain } from './domains/own-domains.ts'
import { powerStateOf } from './domains/power-state.ts'
import { filesOf, type LibvirtHost } from './host.ts'
import { OFF } from './power.ts'
import type { DomainRef } from './rpc/refs.ts'
import { refuseRootVolume } from './volumes/attach.ts'
import { encryptionElement } from './volumes/volume-device.ts'
import { element, renderXml } from './xml/element.ts'

const POLL_MS = 200
const ABORT_MS = 10_000
/** virDomainJobType. */
const JOB_NONE = 0
const JOB_COMPLETED = 3
/** The root disk in `domainXml`. */
const ROOT_TARGET = 'vda'

/** Copies root disks: of a guest that runs through QEMU, as of the moment the copy began, else the file. */
export function libvirtSnapshot(host: LibvirtHost): Snapshot {
  return {
    take: (id, signal) =>
      host.locks.runPreemptible(id, signal, (lockSignal) => takeSnapshot(host, id, lockSignal)),
  }
}

/** As `Snapshot.take`. The caller holds the instance's lock. */
export async function takeSnapshot(
  host: LibvirtHost,
  id: InstanceId,
  signal: AbortSignal,
): Promise<DiskImage> {
  const domain = await getOwnDomain(host.domains, host.owner, id, signal)
  await refuseRootVolume(host, id)
  const { rootDisk, snapshot } = filesOf(host, id)
  const remove = () => rm(snapshot, { force: true })
  // Removes the files of an interrupted snapshot.
  await remove()
  try {
    const isOff = OFF.has(powerStateOf(await host.domains.state(domain, signal)))
    if (isOff) await copyWhole(rootDisk, snapshot, signal)
    else
      await backUp(host, domain, { target: ROOT_TARGET, format: 'qcow2', path: snapshot }, signal)
    return {
      diskFormat: 'qcow2',
      sizeBytes: (await stat(snapshot)).size,
      content: () => createReadStream(snapshot),
      [Symbol.asyncDispose]: remove,
    }
  } catch (error) {
    await remove()
    throw error
  }
}

interface Backup {
  /** The name of the disk in the domain. */
  readonly target: string
  readonly format: 'qcow2' | 'raw'
  readonly path: string
  /** The file is there, encrypted with the key of this volume; absent: it is made. */
  readonly encryptedFor?: VolumeId
}

/** Afterwards the file has the content that a disk of the guest, which runs, had when this began. The caller holds the instance's lock. */
export async function backUp(
  host: LibvirtHost,
  domain: DomainRef,
  backup: Backup,
  signal: AbortSignal,
): Promise<void> {
  const calls = backupCalls(host.session, host.slowSession)
  const isThere = backup.encryptedFor !== undefined
  await endLeftJob(calls, domain, signal)
  await calls.begin(domain, { xml: backupXml(backup), isThere }, signal)
  try {
    while ((await calls.jobState(domain, false, signal)) !== JOB_NONE)
      await sleep(POLL_MS, undefined, { signal })
  } catch (error) {
    await calls.abort(domain, AbortSignal.timeout(ABORT_MS)).catch(() => undefined)
    throw error
  }
  if ((await calls.jobState(domain, true, signal)) !== JOB_COMPLETED)
    throw new Failure('internal', 'The disk could not be copied.')
}

/** A daemon of libvirt that was killed under a copy has taken its job up again, and begins no other beside it. */
async function endLeftJob(
  calls: ReturnType<typeof backupCalls>,
  domain: DomainRef,
  signal: AbortSignal,
): Promise<void> {
  if ((await calls.jobState(domain, false, signal)) === JOB_NONE) return
  await calls.abort(domain, signal)
  while ((await calls.jobState(domain, false, signal)) !== JOB_NONE)
    await sleep(POLL_MS, undefined, { signal })
}

/** The other disks are left out. */
function backupXml({ target, format, path, encryptedFor }: Backup): string {
  const disk = element(
    'disk',
    { name: target, backup: 'yes', type: 'file' },
    element('driver', { type: format }),
    element('target', { file: path }, encryptedFor && encryptionElement(encryptedFor)),
  )
  return renderXml(element('domainbackup', { mode: 'push' }, element('disks', {}, disk)))
}
