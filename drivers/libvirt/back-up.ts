import { setTimeout as sleep } from 'node:timers/promises'
import { Failure } from '#common/errors.ts'
import type { VolumeId } from '#common/ids.ts'
import { backupCalls } from './domains/backup-calls.ts'
import { checkpointCalls } from './domains/checkpoint-calls.ts'
import { mirrorCalls } from './domains/mirror-calls.ts'
import type { LibvirtHost } from './host.ts'
import type { DomainRef } from './rpc/refs.ts'
import { encryptionElement } from './volumes/volume-device.ts'
import { element, renderXml } from './xml/element.ts'

const POLL_MS = 200
const ABORT_MS = 10_000
/** virDomainJobType. */
const JOB_NONE = 0
const JOB_COMPLETED = 3

export interface Backup {
  /** The name of the disk in the domain. */
  readonly target: string
  readonly format: 'qcow2' | 'raw'
  readonly path: string
  /** The file is there, encrypted with the key of this volume; absent: it is made. */
  readonly encryptedFor?: VolumeId
  /** What this bitmap of the disk names is copied, and nothing else; absent: the whole disk. */
  readonly bitmap?: string
}

/**
 * Afterwards the file has the content of one moment of a disk of the guest, which runs, or what a bitmap names of it: of the
 * moment at which this began, or, while the guest's daemon has lost a job, of the one at which it ended; then a bitmap is
 * refused. The caller holds the instance's lock.
 */
export async function backUp(
  host: LibvirtHost,
  domain: DomainRef,
  backup: Backup,
  signal: AbortSignal,
): Promise<void> {
  const calls = backupCalls(host.session, host.slowSession)
  if (await calls.hasLostJob(domain, signal)) {
    if (backup.bitmap !== undefined) throw notCopied()
    return mirror(host, domain, backup, signal)
  }
  const isThere = backup.encryptedFor !== undefined
  await endLeftJob(calls, domain, signal)
  const begin = () => calls.begin(domain, { xml: backupXml(backup), isThere }, signal)
  await asCheckpoint(host, domain, backup, signal, begin)
  try {
    while ((await calls.jobState(domain, false, signal)) !== JOB_NONE)
      await sleep(POLL_MS, undefined, { signal })
  } catch (error) {
    await calls.abort(domain, AbortSignal.timeout(ABORT_MS)).catch(() => undefined)
    throw error
  }
  if ((await calls.jobState(domain, true, signal)) !== JOB_COMPLETED) throw notCopied()
}

/** Begins a copy while libvirt knows its bitmap, if it has one. */
async function asCheckpoint(
  host: LibvirtHost,
  domain: DomainRef,
  { target, bitmap }: Backup,
  signal: AbortSignal,
  begin: () => Promise<void>,
): Promise<void> {
  if (bitmap === undefined) return begin()
  const checkpoints = checkpointCalls(host.session)
  await checkpoints.define(domain, target, bitmap, signal)
  try {
    await begin()
  } finally {
    // The copy has a bitmap of its own by now.
    await checkpoints.forget(domain, bitmap, AbortSignal.timeout(ABORT_MS))
  }
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

/** Beside a lost job the daemon still has QEMU write a disk to a second file, which is the copy once the two are the same. */
async function mirror(
  host: LibvirtHost,
  domain: DomainRef,
  { target, format, path, encryptedFor }: Backup,
  signal: AbortSignal,
): Promise<void> {
  const calls = mirrorCalls(host.session, host.slowSession)
  const end = (endSignal: AbortSignal) => calls.end(domain, target, endSignal)
  if ((await calls.state(domain, target, signal)) !== 'none') await end(signal)
  const file = element('source', { file: path }, encryptedFor && encryptionElement(encryptedFor))
  const disk = element('disk', { type: 'file' }, file, element('driver', { type: format }))
  const isThere = encryptedFor !== undefined
  await calls.begin(domain, { target, xml: renderXml(disk), isThere }, signal)
  try {
    for (;;) {
      const state = await calls.state(domain, target, signal)
      if (state === 'none') throw notCopied()
      if (state === 'ready') break
      await sleep(POLL_MS, undefined, { signal })
    }
    await end(signal)
  } catch (error) {
    await end(AbortSignal.timeout(ABORT_MS)).catch(() => undefined)
    throw error
  }
}

function notCopied(): Failure {
  return new Failure('internal', 'The disk could not be copied.')
}

/** The other disks are left out. */
function backupXml({ target, format, path, encryptedFor, bitmap }: Backup): string {
  const disk = element(
    'disk',
    {
      ...{ name: target, backup: 'yes', type: 'file' },
      ...(bitmap !== undefined && { backupmode: 'incremental', incremental: bitmap }),
    },
    element('driver', { type: format }),
    element('target', { file: path }, encryptedFor && encryptionElement(encryptedFor)),
  )
  return renderXml(element('domainbackup', { mode: 'push' }, element('disks', {}, disk)))
}
